/** jax-js, for the page that times it. */

export * from "@jax-js/jax";
