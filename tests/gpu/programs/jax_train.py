# Trains a small network with JAX: value_and_grad and an update in one jit, 40 steps. XLA puts a step into command
# buffers.
import jax
import jax.numpy as jnp

WIDTH, LAYERS, BATCH = 1024, 4, 256


def layer(weights, x):
    weight, bias = weights
    return jnp.tanh(x @ weight + bias)


def loss(parameters, x, y):
    for weights in parameters:
        x = layer(weights, x)
    return jnp.mean((x - y) ** 2)


@jax.jit
def step(parameters, x, y):
    value, gradients = jax.value_and_grad(loss)(parameters, x, y)
    return jax.tree.map(lambda p, g: p - 0.01 * g, parameters, gradients), value


def main():
    keys = jax.random.split(jax.random.PRNGKey(0), LAYERS + 2)
    parameters = [(jax.random.normal(key, (WIDTH, WIDTH)) / WIDTH**0.5, jnp.zeros(WIDTH)) for key in keys[:LAYERS]]
    x, y = (jax.random.normal(key, (BATCH, WIDTH)) for key in keys[LAYERS:])
    for _ in range(40):
        parameters, value = step(parameters, x, y)
    print('loss %.4f' % value)


main()
