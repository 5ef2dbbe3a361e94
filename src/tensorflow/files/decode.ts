/**
 * Protobuf messages out of bytes, with errors that name the file.
 */
import { type DescMessage, fromBinary, type MessageShape } from "@bufbuild/protobuf";
import { DataLossError } from "../../engine/core/errors.ts";

/** The message in bytes. Throws `DataLossError` naming the file where they are none. */
export function decode<D extends DescMessage>(
  schema: D,
  bytes: Uint8Array,
  file: string,
): MessageShape<D> {
  try {
    return fromBinary(schema, bytes);
  } catch (e) {
    throw new DataLossError(
      `Cannot read ${file}: its bytes are no ${schema.name} (${(e as Error).message})`,
      { cause: e },
    );
  }
}
