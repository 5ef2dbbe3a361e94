/** Elements as messages: a tensor's bytes are sent and read where they lie. */
import { create, toBinary } from "@bufbuild/protobuf";
import { DataLossError } from "../../engine/core/errors.ts";
import { DTYPES } from "../../engine/core/dtype.ts";
import type { NdArray } from "../../engine/core/nd_array.ts";
import { Budget } from "../../tensorflow/graph_def/check.ts";
import { attrFromJson, shapeToJson } from "../../tensorflow/graph_def/values.ts";
import { shapeOf, tensorOf, typeOf } from "../../tensorflow/files/from_message.ts";
import {
  CompressedComponentMetadataSchema,
  type GetElementResponse,
} from "../../tensorflow/proto/data_service_pb.ts";
import type { TensorProto } from "../../tensorflow/proto/tensor_pb.ts";
import { dtype, shapeMessage } from "../../tensorflow/files/to_message.ts";
import { snappyPlain, unsnappy } from "./snappy.ts";
import { field, numberField, pushHead, pushNumberField } from "./fields.ts";

type Element = readonly NdArray[];

function bytesOf({ data }: NdArray): Uint8Array {
  const { buffer, byteOffset, byteLength } = data as Float32Array;
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/** Adds a `TensorShapeProto`. */
function pushShape(out: number[], { shape }: NdArray): void {
  for (const size of shape) {
    const dim: number[] = [];
    pushNumberField(dim, 1, size);
    pushHead(out, 2, dim.length);
    out.push(...dim);
  }
}

/** A tensor as a `TensorProto`. */
export function tensorParts(x: NdArray): Uint8Array[] {
  const head: number[] = [], shape: number[] = [];
  pushNumberField(head, 1, dtype(DTYPES[x.dtype].tfEnum));
  pushShape(shape, x);
  pushHead(head, 2, shape.length);
  head.push(...shape);
  if (x.dtype === "string") {
    const strings = x.data as readonly Uint8Array[];
    return [new Uint8Array(head), ...strings.flatMap((s) => field(8, [s]))];
  }
  const bytes = bytesOf(x);
  pushHead(head, 4, bytes.length);
  return [new Uint8Array(head), bytes];
}

/** An element as a `GetElementResponse`. */
export function elementParts(
  element: Element,
  { index, compressed }: { readonly index: number; readonly compressed: boolean },
): Uint8Array[] {
  const end = numberField(6, index);
  if (compressed) return [...field(3, compressedParts(element)), ...end];
  return [...field(5, element.flatMap((x) => field(1, tensorParts(x)))), ...end];
}

/** An element as a `CompressedElement`: its bytes in one Snappy block, and their dtypes and shapes. */
function compressedParts(element: Element): Uint8Array[] {
  const metadata = element.map((x) => {
    const sizes = x.dtype === "string"
      ? (x.data as readonly Uint8Array[]).map((s) => s.length)
      : [bytesOf(x).length];
    return toBinary(
      CompressedComponentMetadataSchema,
      create(CompressedComponentMetadataSchema, {
        dtype: dtype(DTYPES[x.dtype].tfEnum),
        tensorShape: shapeMessage(shapeToJson(x.shape)),
        uncompressedBytes: sizes.map(BigInt),
      }),
    );
  });
  const data = element.flatMap((x) =>
    x.dtype === "string" ? x.data as readonly Uint8Array[] : [bytesOf(x)]
  );
  return [...field(1, snappyPlain(data)), ...metadata.flatMap((m) => field(2, [m]))];
}

const TENSOR = { name: "value", type: "tensor" };

/** Decodes a tensor: a view of the message's bytes where they are aligned. */
export function arrayOf(message: TensorProto): NdArray {
  return attrFromJson(TENSOR, { tensor: tensorOf(message) }, new Budget(0)) as NdArray;
}

/** Decodes the element of a response. Throws `DataLossError` where it cannot be read. */
export function elementOf({ compressed, uncompressed }: GetElementResponse): NdArray[] {
  if (uncompressed !== undefined) return uncompressed.components.map(arrayOf);
  if (compressed === undefined) {
    throw new DataLossError("Cannot read an element: the answer has none");
  }
  if (compressed.version !== 0) {
    throw new DataLossError(
      `Cannot read a compressed element of version ${compressed.version}, wanted 0`,
    );
  }
  const whole = unsnappy(compressed.data);
  let at = 0;
  const take = (n: bigint): Uint8Array => {
    const part = whole.subarray(at, at += Number(n));
    if (at <= whole.length) return part;
    throw new DataLossError(
      `Cannot read a compressed element: its ${whole.length} bytes are too few`,
    );
  };
  return compressed.componentMetadata.map(({ dtype, tensorShape, uncompressedBytes }) => {
    const parts = uncompressedBytes.map(take);
    const head = { dtype: typeOf(dtype), tensorShape: tensorShape ? shapeOf(tensorShape) : {} };
    const tensor = head.dtype === "DT_STRING"
      ? { ...head, stringVal: parts }
      : { ...head, tensorContent: parts[0] };
    return attrFromJson(TENSOR, { tensor }, new Budget(0)) as NdArray;
  });
}
