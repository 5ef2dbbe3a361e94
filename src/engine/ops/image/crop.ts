/** cropAndResize and its gradients. */
import { apply1 } from "../../core/apply.ts";
import { ValueError } from "../../core/errors.ts";
import { defineOp } from "../../core/op.ts";
import { type PartialShape, shapeText } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { cropBoxesGradCpu, cropCpu, cropImageGradCpu } from "../../kernels/host/image/crop.ts";
import { knownInts } from "../array/view.ts";
import { shapeFromHost } from "../array/fill_ops.ts";
import { imageSize } from "../array/slice.ts";
import { castInput, shapeOfInput, toFloatInput, toIndexInput, toInput } from "../input.ts";

const METHOD = 'method: string = "bilinear"';
const FLOATS = "{float32, float16, float64}";

const CropAndResize = defineOp({
  name: "CropAndResize",
  inputs: ["image: T", "boxes: float32", "box_ind: int32", "crop_size: int32"],
  outputs: ["crops: float32"],
  attrs: [
    "T: {uint8, uint16, int8, int16, int32, int64, float16, float32, float64, bool}",
    METHOD,
    "extrapolation_value: float = 0",
  ],
  hostInputs: ["crop_size"],
  infer: ([image, boxes, owners, size]) => {
    checkShapes(image.shape, boxes.shape, owners.shape);
    const wanted = knownInts(size);
    const count = boxes.shape?.[0] ?? owners.shape?.[0] ?? null;
    return [[count, wanted?.[0] ?? null, wanted?.[1] ?? null, image.shape?.[3] ?? null]];
  },
  grad: {
    saves: ["image", "boxes", "box_ind"],
    vjp: ({ image, boxes, box_ind }, [dy], { attrs: { method, T }, needs, shapeOf }) => {
      const toImage = () =>
        apply1(CropAndResizeGradImage, [dy, boxes, box_ind, toInput(shapeOf(0), "shape", "crop")], {
          T,
          method,
        });
      const toBoxes = () => apply1(CropAndResizeGradBoxes, [dy, image, boxes, box_ind], { method });
      return [
        needs[0] ? toImage() : null,
        needs[1] && method === "bilinear" ? toBoxes() : null,
        null,
        null,
      ];
    },
  },
  meaning: { kind: "sample", how: "crop", gives: "result" },
  cpu: (ins, [out], { attrs }) => cropCpu(ins, out, attrs),
});

const CropAndResizeGradImage = defineOp({
  name: "CropAndResizeGradImage",
  inputs: ["grads: float32", "boxes: float32", "box_ind: int32", "image_size: int32"],
  outputs: ["output: T"],
  attrs: [`T: ${FLOATS}`, METHOD],
  hostInputs: ["image_size"],
  infer: ([, , , size]) => [shapeFromHost(size)],
  grad: {
    saves: ["grads", "boxes", "box_ind"],
    vjp: ({ grads, boxes, box_ind }, [ddx], ctx) => [
      apply1(CropAndResize, [ddx, boxes, box_ind, imageSize(ctx.shapeOf(0))], {
        method: ctx.attrs.method,
      }),
      // The image's gradient is linear in `grads`, so it changes with the boxes as a crop of `ddx` does.
      ctx.needs[1] ? apply1(CropAndResizeGradBoxes, [grads, ddx, boxes, box_ind]) : null,
      null,
      null,
    ],
  },
  meaning: { kind: "sample", how: "crop", gives: "gradient" },
  cpu: (ins, [out], { attrs }) => cropImageGradCpu(ins, out, attrs),
});

const CropAndResizeGradBoxes = defineOp({
  name: "CropAndResizeGradBoxes",
  inputs: ["grads: float32", "image: T", "boxes: float32", "box_ind: int32"],
  outputs: ["output: float32"],
  attrs: ["T: {uint8, uint16, int8, int16, int32, int64, float16, float32, float64, bool}", METHOD],
  infer: ([, , boxes]) => [boxes.shape],
  cpu: (ins, [out]) => cropBoxesGradCpu(ins, out),
});

/**
 * Cuts boxes out of images and resizes them to one size. `boxes` holds `[y1, x1, y2, x2]` as fractions of the image,
 * `boxInd` the image of each. Values outside of the image are `extrapolationValue`. Returns float32. Throws
 * `ValueError` for shapes that do not fit or another method. TensorFlow op `CropAndResize`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const image = tf.tensor4d([1, 2, 3, 4], [1, 2, 2, 1]);
 * const crops = tf.image.cropAndResize(image, [[0, 0, 1, 1]], tf.tensor1d([0], "int32"), [1, 1]);
 * console.log(crops.arraySync()); // [[[[2.5]]]]
 * ```
 */
export function cropAndResize(
  image: TensorLike,
  boxes: TensorLike,
  boxInd: TensorLike,
  cropSize: TensorLike,
  method: "bilinear" | "nearest" = "bilinear",
  extrapolationValue = 0,
): Tensor {
  const picture = toInput(image, "image", "cropAndResize");
  const frames = toFloatInput(boxes, "boxes", "cropAndResize");
  const owners = castInput(toIndexInput(boxInd, "boxInd", "cropAndResize"), "int32");
  checkShapes(shapeOfInput(picture), shapeOfInput(frames), shapeOfInput(owners));
  if (
    Array.isArray(cropSize) && (cropSize.length !== 2 || cropSize.some((d) => (d as number) < 1))
  ) {
    throw new ValueError(
      `Error in cropAndResize: cropSize must be two positive numbers, but got [${cropSize}]`,
    );
  }
  if (method !== "bilinear" && method !== "nearest") {
    throw new ValueError(`method must be bilinear or nearest, but was ${method}`);
  }
  return apply1(CropAndResize, [
    picture,
    castInput(frames, "float32"),
    owners,
    toIndexInput(cropSize, "cropSize", "cropAndResize"),
  ], { method, extrapolation_value: extrapolationValue });
}

function checkShapes(image: PartialShape, boxes: PartialShape, owners: PartialShape): void {
  if (image && image.length !== 4) {
    throw new ValueError(
      `Error in cropAndResize: image must be rank 4, but got rank ${image.length}`,
    );
  }
  if (boxes && (boxes.length !== 2 || (boxes[1] !== null && boxes[1] !== 4))) {
    throw new ValueError(
      `Error in cropAndResize: boxes must be have size [n,4] but had shape ${shapeText(boxes)}`,
    );
  }
  const count = boxes?.[0] ?? null;
  if (
    owners && (owners.length !== 1 || (count !== null && owners[0] !== null && owners[0] !== count))
  ) {
    throw new ValueError(
      `Error in cropAndResize: boxInd must be have size [${count}] but had shape ${
        shapeText(owners)
      }`,
    );
  }
}
