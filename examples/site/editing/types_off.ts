/** Programs in TypeScript as JavaScript, line by line. */

import { transform } from "sucrase";

/** Fault of a program that is neither JavaScript nor TypeScript. */
interface Fault {
  readonly message: string;
  /** The line, counted from 1, where it is known. */
  readonly line: number | undefined;
}

/** Returns a program without its types, or what is wrong with it. */
export function withoutTypes(code: string): string | Fault {
  try {
    return transform(code, {
      transforms: ["typescript"],
      disableESTransforms: true,
      keepUnusedImports: true,
    }).code;
  } catch (error) {
    const { message, loc } = error as Error & { readonly loc?: { readonly line: number } };
    return {
      message: message.replace(/^Error transforming .*?: /, "").replace(/ \(\d+:\d+\)$/, ""),
      line: loc?.line,
    };
  }
}
