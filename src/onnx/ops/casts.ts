/** Casts between element types, and reinterpreted bits. */
import { type DType, DTYPES } from "../../engine/core/dtype.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import type { NodeCall } from "../build/node_call.ts";
import { op, type OpEntry, type RuleOutput } from "../build/rule.ts";
import { Value } from "../build/value.ts";
import { dtypeOfNumber } from "../file/types.ts";
import { isFloat, put1 } from "./raw.ts";
import * as tf from "../build/tf.ts";

/** Numbers of element types by their names in the first versions. */
const NAMES = ["UNDEFINED", "FLOAT", "UINT8", "INT8", "UINT16", "INT16", "INT32", "INT64", "STRING"]
  .concat(["BOOL", "FLOAT16", "DOUBLE", "UINT32", "UINT64", "COMPLEX64", "COMPLEX128", "BFLOAT16"]);

function cast(n: NodeCall): RuleOutput {
  const named = n.version < 6 && n.attributes.raw("to")?.type === 3;
  const number = named ? NAMES.indexOf(n.attributes.text("to", "")) : n.attributes.int("to", 0);
  return castTo(n, dtypeOfNumber(number));
}

function castTo(n: NodeCall, dtype: DType): RuleOutput {
  const value = n.value(0);
  if (value.dtype === dtype) return value;
  // A float16 that is held in float32 need not round.
  if (value.dtype === "float16" && dtype === "float32") return n.tensorOf(value, dtype);
  if (value.isNarrow) {
    // Integers that count or place fit int32.
    if (dtype === "int32") return value.tensor!;
    return castTensor(value.tensor!, dtype);
  }
  if (n.inFloat32 && value.dtype === "float32" && dtype === "float16") {
    return Value.of(n.x(0), { dtype });
  }
  return castTensor(n.x(0), dtype);
}

function castTensor(x: Tensor, dtype: DType): Tensor {
  if (x.dtype === "string") return fromText(x, dtype);
  return dtype === "string" ? put1("AsString", [x]) : tf.cast(x, dtype);
}

/** Parses texts as numbers: decimal ones, and the names of infinity and NaN. */
function fromText(x: Tensor, dtype: DType): Tensor {
  const exact = dtype === "float64" || !isFloat(dtype) ? "float64" : "float32";
  const read = put1("StringToNumber", [x], { out_type: exact });
  return read.dtype === dtype ? read : tf.cast(read, dtype);
}

/** Reinterprets bits as elements of another type of the same width. */
function bitCast(n: NodeCall): Tensor {
  const dtype = dtypeOfNumber(n.attributes.int("to", 0)), from = n.dtype(0);
  if (DTYPES[from].bytes !== DTYPES[dtype].bytes) n.fail(`${from} is not as wide as ${dtype}`);
  if (from === dtype) return tf.identity(n.x(0));
  if (from !== "bool" && dtype !== "bool") return put1("Bitcast", [n.x(0)], { type: dtype });
  return dtype === "bool" ? tf.notEqual(n.x(0), tf.zerosLike(n.x(0))) : tf.cast(n.x(0), dtype);
}

export const CASTS: readonly OpEntry[] = [
  op("BitCast", 26, bitCast),
  op("Cast", 1, cast),
  op("CastLike", 15, (n) => castTo(n, n.dtype(1))),
];
