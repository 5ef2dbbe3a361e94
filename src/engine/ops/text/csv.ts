/**
 * DecodeCSV: parses columns of numbers and strings from records of text, in TensorFlow's reading of RFC 4180. On the
 * host.
 */
import { type DType, DTYPES } from "../../core/dtype.ts";
import { defineOp, type OpDef } from "../../core/op.ts";
import { NdArray, setElement } from "../../core/nd_array.ts";
import { decodeString, encodeString } from "../../core/text.ts";
import { parseNumber } from "../../kernels/host/text/number_text.ts";
import { refuse, textsOf } from "../host/arrays.ts";

const QUOTE = 34, LF = 10, CR = 13;

/** Returns all fields of a record. */
function fieldsOf(text: Uint8Array, delimiter: number, quotes: boolean): Uint8Array[] {
  const fields: Uint8Array[] = [], { length } = text;
  for (let at = 0; at < length;) {
    if (text[at] === LF || text[at] === CR) {
      at++;
      continue;
    }
    if (quotes && text[at] === QUOTE) {
      const bytes: number[] = [];
      at++;
      while (at < length - 1 && (text[at] !== QUOTE || text[at + 1] !== delimiter)) {
        if (text[at] !== QUOTE) bytes.push(text[at++]);
        else if (text[at + 1] !== QUOTE) {
          refuse("Quote inside a string has to be escaped by another quote");
        } else {
          bytes.push(QUOTE);
          at += 2;
        }
      }
      const isClosed = at < length && text[at] === QUOTE &&
        (at === length - 1 || text[at + 1] === delimiter);
      if (!isClosed) refuse("Quoted field has to end with quote followed by delim or end");
      fields.push(Uint8Array.from(bytes));
      at += 2;
    } else {
      const from = at;
      for (; at < length && text[at] !== delimiter; at++) {
        if ((quotes && text[at] === QUOTE) || text[at] === LF || text[at] === CR) {
          refuse("Unquoted fields cannot have quotes/CRLFs inside");
        }
      }
      fields.push(text.subarray(from, at++));
    }
  }
  // A delimiter at the end is followed by an empty field.
  if (length > 0 && text[length - 1] === delimiter) fields.push(new Uint8Array());
  return fields;
}

export const DecodeCSV: OpDef = defineOp({
  name: "DecodeCSV",
  inputs: ["records: string", "record_defaults: OUT_TYPE"],
  outputs: ["output: OUT_TYPE"],
  attrs: [
    "OUT_TYPE: list(type)",
    'field_delim: string = ","',
    "use_quote_delim: bool = true",
    'na_value: string = ""',
    "select_cols: list(int) = []",
  ],
  infer: ([records, ...defaults]) => defaults.map(() => records.shape),
  grad: null,
  cpu: ([records, ...defaults], _, { attrs }) => {
    const delimiter = encodeString(attrs.field_delim), types = attrs.OUT_TYPE as readonly DType[];
    if (delimiter.length !== 1) refuse("field_delim should be only 1 char");
    const chosen = attrs.select_cols as readonly number[];
    const outs = types.map((dtype) => NdArray.zeros(dtype, records.shape));
    textsOf(records).forEach((record, r) => {
      const all = fieldsOf(record, delimiter[0], attrs.use_quote_delim);
      const fields = chosen.length === 0 ? all : chosen.flatMap((c) => all[c] ?? []);
      if (fields.length !== types.length) {
        refuse(`Expect ${types.length} fields but have ${fields.length} in record ${r}`);
      }
      fields.forEach((field, f) => {
        const text = decodeString(field), dtype = types[f];
        if (text === "" || text === attrs.na_value) {
          if (defaults[f].size !== 1) refuse(`Field ${f} is required but missing in record ${r}!`);
          setElement(outs[f], r, defaults[f].at(0));
          return;
        }
        const value = dtype === "string" ? field : parseNumber(text, dtype);
        if (value === null) {
          refuse(`Field ${f} in record ${r} is not a valid ${DTYPES[dtype].tfName}: ${text}`);
        }
        setElement(outs[f], r, value);
      });
    });
    return outs;
  },
});
