/** Arrays as the tensors of a file. */
import { create } from "@bufbuild/protobuf";
import type { TypedArray } from "../../engine/core/dtype.ts";
import type { NdArray } from "../../engine/core/nd_array.ts";
import { type Tensor, TensorSchema } from "../proto/onnx_pb.ts";
import { numberOfDType } from "../file/types.ts";

/** Returns an array's bytes, in place. */
export function bytesOf({ data }: NdArray): Uint8Array {
  const { buffer, byteOffset, byteLength } = data as TypedArray;
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/** A part of another file. */
export interface Place {
  readonly location: string;
  readonly offset: number;
}

/** Returns an array's tensor; its elements are in the message, or elsewhere. */
export function tensorMessage(name: string, array: NdArray, place: Place | null = null): Tensor {
  const of = {
    name,
    dims: array.shape.map(BigInt),
    dataType: numberOfDType(array.dtype),
  };
  if (array.dtype === "string") {
    return create(TensorSchema, { ...of, stringData: [...array.data as Uint8Array[]] });
  }
  const bytes = bytesOf(array);
  if (place === null) return create(TensorSchema, { ...of, rawData: bytes });
  return create(TensorSchema, {
    ...of,
    dataLocation: 1,
    externalData: [
      { key: "location", value: place.location },
      { key: "offset", value: String(place.offset) },
      { key: "length", value: String(bytes.length) },
    ],
  });
}
