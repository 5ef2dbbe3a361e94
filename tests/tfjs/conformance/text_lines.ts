// Splits a stream of bytes into lines of text.

/** Bytes in, lines out, without their line ends; a last line without an end counts. */
export class TextLineStream extends TransformStream<Uint8Array, string> {
  constructor() {
    const decoder = new TextDecoder();
    let rest = "";
    super({
      transform(bytes, controller): void {
        const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
        rest = lines.pop()!;
        for (const line of lines) controller.enqueue(line);
      },
      flush(controller): void {
        if (rest !== "") controller.enqueue(rest);
      },
    });
  }
}
