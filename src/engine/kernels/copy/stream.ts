/** Programs whose invocations each make one element, and values as parameter words. */
import { type DType, DTYPES } from "../../core/dtype.ts";
import {
  f32Bits,
  flatId,
  makeProgram,
  type Program,
  type ProgramInit,
} from "../../core/dispatch.ts";

/** Makes a program of invocations that each make element `i` of `p.n`. */
export function streamProgram(init: Omit<ProgramInit, "workgroup">): Program {
  return makeProgram({
    ...init,
    params: ["n", ...init.params ?? []],
    workgroup: [256, 1, 1],
    body: `let i = ${flatId(256)};\nif (i >= p.n) { return; }\n${init.body}`,
  });
}

/** Returns the parameter word of a value of this dtype; float16 travels as float32. */
export function valueWord(value: number, dtype: DType): number {
  switch (DTYPES[dtype].kind) {
    case "float":
    case "complex":
      return f32Bits(value);
    case "bool":
      return value ? 1 : 0;
  }
  return value >>> 0;
}

/** Returns WGSL that converts the parameter word `text` to a word of this type; a complex number is real. */
export function wordOfParam(word: string, text: string): string {
  if (word === "vec2<u32>") return `${word}(${text}, 0u)`;
  return word === "f16" ? `f16(bitcast<f32>(${text}))` : text;
}
