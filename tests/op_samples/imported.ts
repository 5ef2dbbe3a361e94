/** Samples of ops that only files have. */

import { sample, type SampleTable } from "./inputs.ts";
import { NdArray } from "@weft/weft";

const texts = (...values: string[]): NdArray =>
  new NdArray("string", [values.length], values.map((v) => new TextEncoder().encode(v)));
const words = texts("Hello World", "  aé ", "", "x1");

export const IMPORTED: SampleTable = {
  StringLower: [sample([words]), sample([words], { encoding: "utf-8" })],
  StringUpper: [sample([words]), sample([words], { encoding: "utf-8" })],
  StringStrip: [sample([words])],
  StaticRegexFullMatch: [sample([words], { pattern: "[a-z]\\d|.*o.*" })],
  StringJoin: [
    sample([words, texts("-").reshape([]), words], { separator: "/" }),
    sample([texts("a").reshape([]), texts("b").reshape([])]),
  ],
  StringLength: [sample([words]), sample([words], { unit: "UTF8_CHAR" })],
  StringToNumber: [
    sample([texts("1.5", " -2e3", "inf", ".5")]),
    sample([texts("12", "-7")], { out_type: "int64" }),
  ],
  RegexReplace: [
    sample([words, texts("[a-z]+").reshape([]), texts("<\\0>").reshape([])]),
    sample([words, texts("l").reshape([]), texts("L").reshape([])], { replace_global: false }),
  ],
  StringSplitV2: [
    sample([words, texts("").reshape([])]),
    sample([words, texts("l").reshape([])], { maxsplit: 1 }),
  ],
  DecodeRaw: [sample([texts("abcd", "efgh")], { out_type: "int16" })],
  BroadcastGradientArgs: [
    sample([{ shape: [3], values: [2, 1, 3] }, { shape: [2], values: [4, 3] }], {}, {
      dtypes: ["int32"],
    }),
  ],
};
