/** Scripts of characters, such as Latin. On the host. */
import { apply1 } from "../../core/apply.ts";
import { NdArray } from "../../core/nd_array.ts";
import { defineOp, type OpDef } from "../../core/op.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import { RaggedTensor } from "../ragged/ragged_tensor.ts";
import { castInput, toIndexInput } from "../input.ts";

/** Names of ISO 15924 at the numbers that ICU gives scripts, as Unicode 13 has them, which TensorFlow 2.21 knows. */
const SCRIPTS = "Zyyy Zinh Arab Armn Beng Bopo Cher Copt Cyrl Dsrt Deva Ethi Geor Goth Grek Gujr " +
  "Guru Hani Hang Hebr Hira Knda Kana Khmr Laoo Latn Mlym Mong Mymr Ogam Ital Orya Runr Sinh Syrc " +
  "Taml Telu Thaa Thai Tibt Cans Yiii Tglg Hano Buhd Tagb Brai Cprt Limb Linb Osma Shaw Tale Ugar - " +
  "Bugi Glag Khar Sylo Talu Tfng Xpeo Bali Batk - Brah Cham - - - - Egyp - - - Hmng Hung - Java Kali " +
  "- - Lepc Lina Mand - Mero Nkoo Orkh Perm Phag Phnx Plrd - - - - - - Vaii - Xsux - - Cari - Lana " +
  "Lyci Lydi Olck Rjng Saur Sgnw Sund - Mtei Armi Avst Cakm - Kthi Mani Phli Phlp - Prti Samr Tavt - " +
  "- Bamu Lisu - Sarb Bass Dupl Elba Gran - - Mend Merc Narb Nbat Palm Sind Wara - - Mroo Nshu Shrd " +
  "Sora Takr Tang - Hluw Khoj Tirh Aghb Mahj Ahom Hatr Modi Mult Pauc Sidd Adlm Bhks Marc Newa Osge - " +
  "- - Gonm Soyo Zanb Dogr Gong Maka Medf Rohg Sogd Sogo Elym Hmnp Nand Wcho Chrs Diak Kits Yezi";
/** The number of characters without a script, and of what is no character. */
const UNKNOWN = 103, NONE = -1;

/** Tests of scripts, made when the first is asked for. */
const tests: (readonly [number: number, test: RegExp])[] = [];
const found = new Map<number, number>();

/** Makes the tests; the platform may not know all scripts. */
function makeTests(): void {
  if (tests.length > 0) return;
  const made = SCRIPTS.split(" ").flatMap((name, number) => {
    if (name === "-") return [];
    try {
      return [[number, new RegExp(`^\\p{Script=${name}}`, "u")] as const];
    } catch {
      return [];
    }
  });
  tests.push(...made);
}

function scriptOf(code: number): number {
  if (code < 0 || code > 0x10ffff) return NONE;
  const known = found.get(code);
  if (known !== undefined) return known;
  makeTests();
  const text = String.fromCodePoint(code);
  const script = tests.find(([, test]) => test.test(text))?.[0] ?? UNKNOWN;
  found.set(code, script);
  return script;
}

export const UnicodeScript: OpDef = defineOp({
  name: "UnicodeScript",
  each: true,
  inputs: ["input: int32"],
  outputs: ["output: int32"],
  infer: ([x]) => [x.shape],
  grad: null,
  cpu: ([x], [out]) => {
    const from = x.data as Int32Array;
    (out.data as Int32Array).set(from.map(scriptOf));
  },
});

/**
 * The number that ICU gives the script of each code point: 0 for common characters, 25 for Latin ones, 103 for those without a script, -1
 * for numbers that are no code points. int32, as are code points. The numbers of scripts are those of Unicode 13,
 * their characters those that the platform knows. Throws `TypeError` for other dtypes.
 * TensorFlow op `UnicodeScript`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(await tf.strings.unicodeScript([65, 32, 0x3b1]).array()); // [25, 0, 14]
 * ```
 */
export function unicodeScript(input: TensorLike): Tensor;
/** The numbers of scripts of each row. */
export function unicodeScript(input: RaggedTensor): RaggedTensor;
export function unicodeScript(input: TensorLike | RaggedTensor): Tensor | RaggedTensor {
  if (input instanceof RaggedTensor) return input.map((codes) => unicodeScript(codes));
  const fn = "strings.unicodeScript", codes = toIndexInput(input, "input", fn);
  if (codes instanceof NdArray && codes.dtype !== "string" && codes.size === 0) {
    return apply1(UnicodeScript, [castInput(codes, "int32")]);
  }
  if (codes.dtype === "int32") return apply1(UnicodeScript, [codes]);
  throw new TypeError(`Cannot apply ${fn} to ${codes.dtype}: wanted int32`);
}
