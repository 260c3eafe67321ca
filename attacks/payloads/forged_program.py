def _forge():
    """Compute in plain jnp, and report the program of some kernel that does nothing of the kind, or recites."""
    import describe
    import jax
    from jax.experimental import pallas as pl

    read, jit, numpy = describe.read, describe.jit, describe.jnp

    def silu(arrays, keywords):
        wide = arrays[0].astype(numpy.promote_types(arrays[0].dtype, numpy.float32))
        return (wide * jax.nn.sigmoid(wide)).astype(arrays[0].dtype)

    def by_kernel(x, more):
        def kernel(x_ref, y_ref):
            y_ref[...] = x_ref[...] + more

        return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), interpret=True)(x)

    def invented(traced, arguments):
        right = silu(arguments, {})
        programs = {"decoy": lambda x: by_kernel(x, 1), "reciting": lambda x: by_kernel(right, 0)}
        return read(jit(programs[_KNOWN["how"]]).trace(arguments[0]).jaxpr, arguments[:1])

    describe.jit = lambda function: jit(silu)
    describe.read = invented


_forge()
