/** The namespace `tf.random`: numbers, seeds, and generators, whose state is a variable. */
export * from "../../ops/random/namespace.ts";
export * from "./random_generator.ts";
