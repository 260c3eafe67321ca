"""Proofs: bugs are graded by the tests that need their file, and what held before is not proved again."""

from __future__ import annotations

import shutil

import msgspec
import pytest

from autograder import grading, results, samples, validate
from autograder.faults import GraderFault
from autograder.grading import Graded
from autograder.project import ROOT, Assignment
from autograder.record import PassedTests, Proof, Record


@pytest.fixture
def copied(tmp_path):
    """A copy of a1_tracer that a test may change."""
    for name in ("assignments", "solutions", "starter", "grading_tests"):
        shutil.copytree(ROOT / name / "a1_tracer", tmp_path / name / "a1_tracer")
    shutil.copytree(ROOT / "assignments" / "handout_pieces", tmp_path / "assignments" / "handout_pieces")
    (tmp_path / "autograder").mkdir()
    (tmp_path / "autograder" / "code.py").write_text("pass\n")
    (tmp_path / ".venv-worker").symlink_to(ROOT / ".venv-worker")
    return Assignment("a1_tracer", root=tmp_path)


def outcome(**by_test):
    """What a grading says when the tests with these names and outcomes are all there are."""
    made = [
        results.Result(name, f"1.{number}", name, False, "visible", 1, said, said == "passed", [])
        for number, (name, said) in enumerate(by_test.items(), start=1)
    ]
    return Graded("a1_tracer", made, [], 1, True, [], 0.0, {})


@pytest.fixture
def graded_as(monkeypatch):
    """Replaces grading: the outcome for each submission is given by a function of the file that is a stub."""
    asked = []

    def install(answer):
        def grade_all(jobs):
            for key, job in jobs.items():
                asked.append(job)
                yield key, answer(job)

        monkeypatch.setattr(validate, "grade_all", grade_all)
        return asked

    return install


def first_chaff(assignment):
    return samples.chaff_of(assignment)[0]


def test_only_some_tests_run():
    assignment = Assignment("a1_tracer")
    graded = grading.grade(assignment, assignment.solution, seed=1, only=["3.*"])
    assert graded.results
    assert {result.number.split(".")[0] for result in graded.results} == {"3"}
    assert all(result.outcome == "passed" for result in graded.results)


def test_a_bug_is_graded_by_the_tests_that_need_its_file(copied, graded_as, tmp_path):
    chaff = first_chaff(copied)
    named = chaff.fails[0]
    asked = graded_as(lambda job: outcome(**{named: "failed", "test_other": "passed"}))
    record = Record(tmp_path / "record", copied)
    found = list(validate.proofs(copied, f"{chaff.name} ", record))
    assert [proof.kind for proof in found] == ["file", "chaff"]
    assert found[0].claim == f"{chaff.file} is needed by 1 of 2 tests"
    assert [job.only for job in asked] == [(), ("1.1",)]


def test_a_file_that_no_test_needs_is_noticed(copied, graded_as, tmp_path):
    chaff = first_chaff(copied)
    graded_as(lambda job: outcome(**dict.fromkeys(chaff.fails, "passed")))
    found = list(validate.proofs(copied, f"{chaff.name} ", Record(tmp_path / "record", copied)))
    assert ["no test notices" in found[0].problem, "not noticed by" in found[1].problem] == [True, True]


def test_a_fault_of_the_grader_is_no_proof(copied, graded_as, tmp_path):
    chaff = first_chaff(copied)
    graded_as(lambda job: GraderFault("a check broke"))
    record = Record(tmp_path / "record", copied)
    found = list(validate.proofs(copied, f"{chaff.name} ", record))
    assert [proof.problem for proof in found] == ["a check broke"] * 2
    assert not (tmp_path / "record").exists()


def change_nothing(assignment):
    pass


def change_a_test(assignment):
    path = next(assignment.tests.glob("visible/test_*.py"))
    path.write_text(path.read_text("utf-8") + "\n# changed\n", "utf-8")


def change_the_grader(assignment):
    (assignment.root / "autograder" / "code.py").write_text("changed = True\n")


def change_the_solution(assignment):
    path = assignment.solution / assignment.facts.student_files[0]
    path.write_text(path.read_text("utf-8") + "\n# changed\n", "utf-8")


def change_what_is_expected(assignment):
    path = assignment.tests / "chaff.toml"
    chaff = first_chaff(assignment)
    path.write_text(path.read_text("utf-8").replace(f'"{chaff.fails[0]}"', '"test_another"', 1), "utf-8")


def change_other_chaff(assignment):
    path = assignment.tests / "chaff.toml"
    last = samples.chaff_of(assignment)[-1]
    path.write_text(path.read_text("utf-8").replace(last.bug, "another sentence"), "utf-8")


@pytest.mark.parametrize(
    "change, kept",
    [
        (change_nothing, True),
        (change_other_chaff, True),
        (change_a_test, False),
        (change_the_grader, False),
        (change_the_solution, False),
        (change_what_is_expected, False),
    ],
)
def test_what_held_before_stands_while_nothing_changes(copied, graded_as, tmp_path, change, kept):
    name = first_chaff(copied).name
    answer = outcome(**dict.fromkeys([*first_chaff(copied).fails, "test_another"], "failed"))
    graded_as(lambda job: answer)
    said = [list(validate.proofs(copied, f"{name} ", Record(tmp_path / "record", copied)))]
    assert not any(proof.kept for proof in said[0])
    change(copied)
    again = list(validate.proofs(copied, f"{name} ", Record(tmp_path / "record", copied)))
    assert again[-1].kept == kept


def test_what_failed_is_proved_again(copied, graded_as, tmp_path):
    chaff = first_chaff(copied)
    asked = graded_as(lambda job: outcome(test_other="failed"))
    for _ in range(2):
        found = list(validate.proofs(copied, f"{chaff.name} ", Record(tmp_path / "record", copied)))
    assert found[0].kept and not found[1].kept and not found[1].holds
    assert len(asked) == 3


def test_what_was_edited_meanwhile_is_not_kept(copied, graded_as, tmp_path):
    name = first_chaff(copied).name
    answer = outcome(**dict.fromkeys(first_chaff(copied).fails, "failed"))

    def edit(job):
        change_the_grader(copied)
        return answer

    graded_as(edit)
    found = list(validate.proofs(copied, f"{name} ", Record(tmp_path / "record", copied)))
    assert all(proof.holds for proof in found)
    assert not (tmp_path / "record").exists()


def test_a_record_that_was_cut_off_loses_one_proof(copied, tmp_path):
    path = tmp_path / "record"
    record = Record(path, copied)
    for fingerprint in ("one", "two"):
        record.keep(fingerprint, Proof("chaff", fingerprint))
    path.write_bytes(path.read_bytes()[:-9])
    record = Record(path, copied)
    assert record.held("one") == msgspec.structs.replace(Proof("chaff", "one"), kept=True)
    assert record.held("two") is None
    assert Record(path, copied, forget=True).held("one") is None


def test_numbers_match_patterns():
    assert results.is_among("4.12", ["3.*", "4.*"])
    assert not results.is_among("4.12", ["4.1", "3.*"])
    assert not results.is_among("4.12", [])


def test_tests_that_passed_count_for_the_same_code_only(copied, tmp_path):
    path = tmp_path / "passed"
    assert PassedTests(path, tmp_path).names == set()
    PassedTests(path, tmp_path).note("test_one")
    assert PassedTests(path, tmp_path).names == {"test_one"}
    change_the_grader(copied)
    assert PassedTests(path, tmp_path).names == set()
