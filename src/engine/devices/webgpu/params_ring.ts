/** One uniform buffer for the parameters of all dispatches: equal words share a slot and are written once. */

/** Bytes per slot: WebGPU's largest required alignment of dynamic offsets. */
export const SLOT_BYTES = 256;
const SLOTS = 4096;

/** Offset of parameters, valid while `epoch` is the ring's. */
export interface ParamSlot {
  offset: number;
  /** Ring generation it was written in. */
  epoch: number;
}

/** Slots of a uniform buffer keyed by their exact words. */
export class ParamsRing {
  readonly buffer: GPUBuffer;
  readonly #queue: GPUQueue;
  readonly #beforeWrap: () => void;
  readonly #offsets = new Map<string, number>();
  #next = 0;
  #epoch = 0;

  /** `beforeWrap` must submit recorded work, which still reads the old slots. */
  constructor(device: GPUDevice, beforeWrap: () => void) {
    this.#queue = device.queue;
    this.#beforeWrap = beforeWrap;
    this.buffer = device.createBuffer({
      size: SLOTS * SLOT_BYTES,
      usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST,
    });
  }

  /** Writes the slot's words, unless they are there, and returns the dynamic offset. */
  resolve(slot: ParamSlot, key: string, words: Uint32Array<ArrayBuffer>): number {
    if (slot.epoch === this.#epoch) return slot.offset;
    let offset = this.#offsets.get(key);
    if (offset === undefined) {
      if (this.#next === SLOTS) {
        this.#beforeWrap();
        this.#offsets.clear();
        this.#next = 0;
        this.#epoch++;
      }
      offset = this.#next++ * SLOT_BYTES;
      this.#queue.writeBuffer(this.buffer, offset, words);
      this.#offsets.set(key, offset);
    }
    slot.offset = offset;
    slot.epoch = this.#epoch;
    return offset;
  }
}
