/**
 * Reads the output of `deno test` while it passes through: the counts in the last line and the
 * names of the tests that were skipped.
 *
 * @module
 */

/** The counts of a run of `deno test`. Steps of a test are not counted. */
export interface TestCounts {
  passed: number;
  failed: number;
  skipped: number;
}

/** A test that did not run. */
export interface SkippedTest {
  readonly file: string;
  readonly name: string;
}

/** Where bytes go, for instance `Deno.stdout`. */
export interface Sink {
  /** Writes some of the bytes and says how many. */
  write(bytes: Uint8Array): Promise<number>;
}

const ESC = String.fromCharCode(27);
const COLORS = new RegExp(`${ESC}\\[[0-9;]*m`, "g");
const FILE = /^running \d+ tests? from (.*)$/;
// Steps are indented, so they do not match. Where files run at a time, each line begins with its file.
const IGNORED = /^(?:(\.{0,2}\/\S+) => )?(\S.*) \.\.\. ignored \(\d+m?s\)$/;
const SUMMARY =
  /^(?:ok|FAILED) \| (\d+) passed.* \| (\d+) failed(?: \(.*?\))?(?: \| (\d+) ignored)?/;

/** Understands the output of `deno test`, one line after the other. */
export class TestOutput {
  /** The counts of the summary line, or null where the run has not come so far. */
  counts: TestCounts | null = null;
  /** The tests that did not run. */
  readonly skipped: SkippedTest[] = [];
  #file = "";

  /** Takes one line, with or without colors. */
  line(text: string): void {
    const line = text.replace(COLORS, "").trimEnd();
    const file = FILE.exec(line);
    if (file) this.#file = file[1];
    const ignored = IGNORED.exec(line);
    if (ignored) this.skipped.push({ file: ignored[1] ?? this.#file, name: ignored[2] });
    const summary = SUMMARY.exec(line);
    if (summary) {
      const [passed, failed, skipped] = summary.slice(1).map((count) => Number(count ?? 0));
      this.counts = { passed, failed, skipped };
    }
  }

  /** Copies a stream to `sink`, reading its lines on the way. */
  async tee(source: ReadableStream<Uint8Array>, sink: Sink): Promise<void> {
    const decoder = new TextDecoder();
    let rest = "";
    for await (const chunk of source) {
      await writeAll(sink, chunk);
      const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) this.line(line);
    }
    this.line(rest);
  }
}

/** Writes all of the bytes. */
export async function writeAll(sink: Sink, bytes: Uint8Array): Promise<void> {
  for (let done = 0; done < bytes.length;) done += await sink.write(bytes.subarray(done));
}
