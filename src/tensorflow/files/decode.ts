/** Decoding of protobuf messages, with errors that name the file. */
import { type DescMessage, fromBinary, type MessageShape } from "@bufbuild/protobuf";
import { DataLossError } from "../../engine/core/errors.ts";
import { lookingLike } from "../../library/io/kinds/file_kinds.ts";

/** Decodes a message. Throws `DataLossError` naming the file for invalid bytes. */
export function decode<D extends DescMessage>(
  schema: D,
  bytes: Uint8Array,
  file: string,
): MessageShape<D> {
  try {
    return fromBinary(schema, bytes);
  } catch (e) {
    const kind = lookingLike(bytes), why = kind === "" ? ` (${(e as Error).message})` : kind;
    throw new DataLossError(`Cannot read ${file}: its bytes are no ${schema.name}${why}`, {
      cause: e,
    });
  }
}
