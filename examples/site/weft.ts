/** The library, as programs of the playground import it. */

export * from "@weft/weft";
