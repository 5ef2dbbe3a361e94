// Waits until a GPUDevice has finished everything submitted to it, in the same way for every system.
//
// Deno 2.9 answers `mapAsync` and `onSubmittedWorkDone` about 10 ms late, which would hide what is to be measured. The
// map itself is done when `mapAsync` returns, so reading the mapped range at once gives the true time. Elsewhere, and
// should that stop working, the promise is awaited.

const BYTES = 4;

/** A function that resolves when all work submitted to `device` so far is done. */
export function queueWaiter(device: GPUDevice): () => Promise<void> {
  const source = device.createBuffer({ size: BYTES, usage: GPUBufferUsage.COPY_SRC });
  const usage = GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST;
  const staging = device.createBuffer({ size: BYTES, usage, mappedAtCreation: true });
  // Deno must have mapped a buffer once before its range may be read early.
  staging.unmap();
  let readsEarly = "Deno" in globalThis;
  return async () => {
    const encoder = device.createCommandEncoder();
    // A queue is in order: when this copy has happened, so has all before it.
    encoder.copyBufferToBuffer(source, 0, staging, 0, BYTES);
    device.queue.submit([encoder.finish()]);
    const mapped = staging.mapAsync(GPUMapMode.READ, 0, BYTES);
    if (readsEarly) {
      try {
        staging.getMappedRange(0, BYTES);
        mapped.catch(() => {});
        staging.unmap();
        return;
      } catch {
        readsEarly = false;
      }
    }
    await mapped;
    staging.unmap();
  };
}

/** Returns the adapter's own name; a note for one that is no GPU. */
export async function adapterName(): Promise<string> {
  const adapter = await navigator.gpu?.requestAdapter();
  if (!adapter) return "no adapter";
  const { description, vendor, architecture, isFallbackAdapter } = adapter.info;
  const name = description || `${vendor} ${architecture}`.trim() || "unnamed adapter";
  return isFallbackAdapter ? `${name}, no GPU` : name;
}

/** True for an adapter that is a program on the CPU, where heavy rows would take minutes. */
export async function isSoftwareAdapter(): Promise<boolean> {
  const adapter = await navigator.gpu?.requestAdapter();
  return adapter?.info.isFallbackAdapter ?? false;
}
