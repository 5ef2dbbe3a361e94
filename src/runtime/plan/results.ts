/**
 * What a plan computed that is one segment: bare memory, to be made tensors or host arrays.
 */
import { type Device, type DeviceBuffer, readNow } from "../../core/device.ts";
import type { NdArray } from "../../core/nd_array.ts";
import { ending } from "../../core/nest.ts";
import type { ConcreteSpec } from "../../core/tensor_spec.ts";
import { Storage } from "../eager/storage.ts";
import { EagerTensor } from "../eager/tensor.ts";

/** Results on one device, each with memory of its own. Whoever gets them calls one of the methods, once. */
export class Results {
  readonly #device: Device;
  readonly #buffers: readonly DeviceBuffer[];
  readonly #of: readonly { readonly spec: ConcreteSpec }[];

  constructor(
    device: Device,
    buffers: readonly DeviceBuffer[],
    of: readonly { readonly spec: ConcreteSpec }[],
  ) {
    this.#device = device;
    this.#buffers = buffers;
    this.#of = of;
  }

  /** Tensors, which belong to the scope in force. */
  tensors(): EagerTensor[] {
    return this.#buffers.map((buffer, i) => {
      const { spec } = this.#of[i];
      return new EagerTensor(spec.dtype, spec.shape, new Storage(this.#device, buffer, spec));
    });
  }

  /** Host arrays, read in one copy. */
  arrays(): NdArray[] | Promise<NdArray[]> {
    const device = this.#device;
    const reads = this.#buffers.map((buffer, i) => ({ buffer, spec: this.#of[i].spec }));
    return ending(
      () => readNow(device, reads),
      () => reads.forEach(({ buffer, spec }) => device.free(buffer, spec)),
    );
  }
}
