/**
 * What a plan computed that is one segment: bare memory, to be made tensors or host arrays.
 */
import { type BufferRead, type Device, readNow } from "../../core/device.ts";
import type { NdArray } from "../../core/nd_array.ts";
import { ending } from "../../core/nest.ts";
import { Storage } from "../eager/storage.ts";
import { EagerTensor } from "../eager/tensor.ts";

/** Results on one device, each with memory of its own. Whoever gets them calls one of the methods, once. */
export class Results {
  readonly #device: Device;
  readonly #reads: readonly BufferRead[];

  constructor(device: Device, reads: readonly BufferRead[]) {
    this.#device = device;
    this.#reads = reads;
  }

  /** Tensors, which belong to the scope in force. */
  tensors(): EagerTensor[] {
    return this.#reads.map(({ buffer, spec }) =>
      new EagerTensor(spec.dtype, spec.shape, new Storage(this.#device, buffer, spec))
    );
  }

  /** Host arrays, read in one copy. */
  arrays(): NdArray[] | Promise<NdArray[]> {
    const device = this.#device, reads = this.#reads;
    return ending(
      () => readNow(device, reads),
      () => reads.forEach(({ buffer, spec }) => device.free(buffer, spec)),
    );
  }
}
