// The processor's time of single threads of this process, on Linux.

/** Clock of the processor's time of a thread, see `man clock_getcpuclockid`. */
const OF_THREAD = 6;

const { symbols: libc } = Deno.dlopen("libc.so.6", {
  clock_gettime: { parameters: ["i32", "buffer"], result: "i32" },
  gettid: { parameters: [], result: "i32" },
});

const time = new BigInt64Array(2);

/** The system's number of the calling thread. */
export const threadId = (): number => libc.gettid();

/** Milliseconds of the processor that a thread has taken. */
export function threadMs(thread: number): number {
  libc.clock_gettime((~thread << 3) | OF_THREAD, time);
  return Number(time[0]) * 1000 + Number(time[1]) / 1e6;
}
