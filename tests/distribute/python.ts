/** Programs of TensorFlow beside which tests run. */

/** A Python that has TensorFlow; undefined where there is none. */
export const PYTHON: string | undefined = Deno.env.get("WEFT_TENSORFLOW_PYTHON");

/** TensorFlow in a process of its own, which does one thing for each line it is sent. */
export class Python implements AsyncDisposable {
  readonly #process: Deno.ChildProcess;
  readonly #lines: ReadableStreamDefaultReader<string>;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  #rest = "";

  /** Runs a program that stands beside this file. */
  constructor(program: string, ...args: string[]) {
    this.#process = new Deno.Command(PYTHON!, {
      args: [new URL(program, import.meta.url).pathname, ...args],
      env: { CUDA_VISIBLE_DEVICES: "", TF_CPP_MIN_LOG_LEVEL: "3" },
      stdin: "piped",
      stdout: "piped",
      stderr: "null",
    }).spawn();
    this.#lines = this.#process.stdout.pipeThrough(new TextDecoderStream()).getReader();
    this.#writer = this.#process.stdin.getWriter();
  }

  /** The next line it writes. */
  // deno-lint-ignore no-explicit-any
  async read(): Promise<any> {
    while (!this.#rest.includes("\n")) {
      const { done, value } = await this.#lines.read();
      if (done) throw new Error("Python has ended");
      this.#rest += value;
    }
    const end = this.#rest.indexOf("\n");
    const line = this.#rest.slice(0, end);
    this.#rest = this.#rest.slice(end + 1);
    return JSON.parse(line);
  }

  /** Returns the program's answer to a line. */
  // deno-lint-ignore no-explicit-any
  async ask(...words: string[]): Promise<any> {
    await this.#writer.write(new TextEncoder().encode(`${words.join(" ")}\n`));
    return await this.read();
  }

  /** Resolves when it has ended. */
  get ended(): Promise<unknown> {
    return this.#process.status;
  }

  /** Ends it at once. */
  kill(): void {
    this.#process.kill("SIGKILL");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#writer.close().catch(() => {});
    await this.#lines.cancel();
    await this.#process.status;
  }
}
