/** The library, as programs of the playground import it. */

export * from "@weft/weft";

export * as ownOps from "@weft/weft/ops";
