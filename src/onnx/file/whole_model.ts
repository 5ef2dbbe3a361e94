/** A model's messages with all elements within, as a file that is to be written again needs them. */
import { InvalidArgumentError } from "../../engine/core/errors.ts";
import { namingAsync } from "../../library/io/naming.ts";
import { type FileSource, readSource } from "../../library/io/source.ts";
import type { Model } from "../proto/onnx_pb.ts";
import { type ExternalData, externalTensors, withExternal } from "./external_data.ts";
import { decode } from "./read_model.ts";

/**
 * Reads a model's messages again, and takes the elements of other files into them. Rejects as `readModel` does, and with
 * `InvalidArgumentError` for a stream, which is read once.
 */
export async function readWholeModel(
  source: FileSource,
  externalData?: ExternalData,
): Promise<Model> {
  if (source instanceof ReadableStream) {
    throw new InvalidArgumentError(
      "Cannot save a model that was loaded from a stream: its file is not there any more, load it from its bytes",
    );
  }
  const { bytes, name } = await readSource(source);
  return await namingAsync(name, async () => {
    const model = decode(bytes), tensors = externalTensors(model);
    return await withExternal(tensors, { source, given: externalData }, (external) => {
      for (const tensor of tensors) {
        tensor.rawData = external.get(tensor.externalData) as Uint8Array;
        tensor.externalData = [];
        tensor.dataLocation = 0;
      }
      return Promise.resolve(model);
    });
  });
}
