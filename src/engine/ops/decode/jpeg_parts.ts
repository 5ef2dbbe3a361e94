/** The parts of functions of JPEGs that need no codec. */
import { wantNumber } from "../../core/arguments.ts";
import { apply1, type OpInput } from "../../core/apply.ts";
import { DTYPES, isInteger } from "../../core/dtype.ts";
import { ValueError } from "../../core/errors.ts";
import { NdArray } from "../../core/nd_array.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { concat } from "../array/join.ts";
import { slice } from "../array/slice.ts";
import { convertImageDtype } from "../image/adjust.ts";
import { asTensor, castInput, intVector, toIndexInput, toInput } from "../input.ts";
import { equal } from "../pointwise/compare.ts";
import { statelessUniformInt } from "../random/namespace.ts";
import { randomUniformInt } from "../random/random.ts";
import { Substr } from "../text/text_parts.ts";

const START = new NdArray("string", [], [Uint8Array.of(0xff, 0xd8, 0xff)]);
const [FROM, COUNT] = [0, 3].map((n) => new NdArray("int32", [], Int32Array.of(n)));

/** True where bytes begin as those of a JPEG do. */
export function startsAsJpeg(contents: OpInput): Tensor {
  return equal(apply1(Substr, [asTensor(contents), FROM, COUNT], { unit: "BYTE" }), START);
}

/** Returns the part of an image that a window, its top, left, height and width, shows. */
export function windowOf(image: Tensor, cropWindow: TensorLike, fn: string): Tensor {
  const window = asTensor(toIndexInput(cropWindow, "cropWindow", fn));
  return slice(
    image,
    concat([slice(window, [0], [2]), intVector([0])]),
    concat([slice(window, [2], [2]), intVector([-1])]),
  );
}

/** Encodes and decodes an image by a codec of bytes. The result has the image's own dtype. */
export function throughBytes(
  image: TensorLike,
  fn: string,
  codec: (bytes: Tensor, channels: 0 | 1 | 3) => Tensor,
): Tensor {
  const given = asTensor(toInput(image, "image", fn)), { dtype } = given;
  if (DTYPES[dtype].kind !== "float" && !isInteger(dtype)) {
    throw new TypeError(`Cannot apply ${fn} to ${dtype}: wanted an image of numbers`);
  }
  const known = given.staticShape?.at(-1);
  const back = codec(
    convertImageDtype(given, "uint8", true),
    known === 1 || known === 3 ? known : 0,
  );
  return convertImageDtype(back, dtype, true);
}

/** Returns a quality as an input. */
export function qualityInput(quality: TensorLike, fn: string): OpInput {
  return castInput(toIndexInput(quality, "quality", fn), "int32");
}

/** Draws a quality, by a seed of two numbers or by one or none. Throws `ValueError` for ends out of range or order. */
export function drawnQuality(
  ends: readonly [least: number, most: number],
  fn: string,
  seed: { readonly stateless: TensorLike } | { readonly seed: number | undefined },
): Tensor {
  const [least, most] = ends;
  wantNumber(least, "minQuality", fn);
  wantNumber(most, "maxQuality", fn);
  if (!(least >= 0 && most <= 100 && least < most)) {
    throw new ValueError(
      `Cannot apply ${fn}: wanted qualities from 0 to 100 in order, received ${least} and ${most}`,
    );
  }
  return "stateless" in seed
    ? statelessUniformInt([], seed.stateless, least, most)
    : randomUniformInt([], least, most, seed.seed);
}
