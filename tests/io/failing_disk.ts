/** A file system that fails at its nth change, as a full disk does, or that changes nothing more, as a process that was killed. */

/** Thrown by the failing file system. */
export class DiskError extends Error {
  readonly code = "ENOSPC";
}

interface Handle {
  write(bytes: Uint8Array, offset: number, length: number): Promise<{ bytesWritten: number }>;
  sync(): Promise<void>;
}

interface Files {
  open(path: string, flags: string, mode?: number): Promise<Handle>;
  [name: string]: (...args: never[]) => Promise<unknown>;
}

declare const process: { getBuiltinModule(name: string): Files };

/**
 * Runs `work` where change `at` fails: opening for writing, a write, a sync, a rename, a removal. A failing write has written half of
 * its bytes. With `dies` no later change happens either. Returns true where `work` came to its end before that change.
 */
export async function failing(
  work: () => Promise<unknown>,
  at: number,
  { dies = false }: { readonly dies?: boolean } = {},
): Promise<boolean> {
  const files = process.getBuiltinModule("node:fs/promises");
  const real = { ...files };
  let changes = 0;
  const fails = (): boolean => {
    const number = changes++;
    return number === at || dies && number > at;
  };
  const fail = (): never => {
    throw new DiskError("No space left on device");
  };
  files.open = async (path, flags, mode) => {
    if (flags === "r") return await real.open(path, flags, mode);
    if (fails()) fail();
    const handle = await real.open(path, flags, mode);
    const write = handle.write.bind(handle), sync = handle.sync.bind(handle);
    handle.write = async (bytes, offset, length) => {
      if (!fails()) return await write(bytes, offset, length);
      await write(bytes, offset, length >> 1);
      return fail();
    };
    handle.sync = async () => fails() ? fail() : await sync();
    return handle;
  };
  for (const name of ["rename", "rm", "mkdir"]) {
    files[name] = async (...args) => fails() ? fail() : await real[name](...args);
  }
  try {
    await work();
    return changes <= at;
  } catch (error) {
    if (changes <= at) throw error;
    return false;
  } finally {
    Object.assign(files, real);
  }
}
