/** Ops of one's own, as programs of the playground import them. */

export * from "@weft/weft/ops";
