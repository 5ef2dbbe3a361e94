/** The check of tensors that become pixels. */
import { ValueError } from "../../core/errors.ts";
import { shapeText } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";

/** Throws `ValueError` for a tensor that is no image by its shape or dtype. */
export function checkPixels({ dtype, shape }: Tensor): void {
  if ((shape.length !== 2 && shape.length !== 3) || ![1, 3, 4].includes(shape[2] ?? 1)) {
    throw new ValueError(
      `toPixels only supports rank 2 or 3 tensors with 1, 3 or 4 channels, received ${
        shapeText(shape)
      }`,
    );
  }
  if (dtype !== "float32" && dtype !== "int32") {
    throw new ValueError(
      `Unsupported type for toPixels: ${dtype}. Please use float32 or int32 tensors`,
    );
  }
}
