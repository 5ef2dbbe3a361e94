/** A textarea that one can write programs in: Tab indents, Enter keeps the indentation, and Escape lets the next Tab leave. */
/// <reference lib="dom" />

/** Makes an editor of a textarea. */
export function makeEditor(area: HTMLTextAreaElement, run: () => void): void {
  let leaves = false;
  const insert = (text: string): void => {
    const { selectionStart: from, selectionEnd: to } = area;
    area.setRangeText(text, from, to, "end");
    area.dispatchEvent(new Event("input"));
  };
  const lineStart = (): number => area.value.lastIndexOf("\n", area.selectionStart - 1) + 1;
  const unindent = (): void => {
    const start = lineStart(), spaces = /^ {0,2}/.exec(area.value.slice(start))![0].length;
    const caret = Math.max(start, area.selectionStart - spaces);
    area.setRangeText("", start, start + spaces, "preserve");
    area.setSelectionRange(caret, caret);
    area.dispatchEvent(new Event("input"));
  };
  area.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      run();
    } else if (event.key === "Escape") leaves = true;
    else if (event.key === "Tab" && !leaves) {
      event.preventDefault();
      if (event.shiftKey) unindent();
      else insert("  ");
    } else if (event.key === "Enter") {
      event.preventDefault();
      insert(`\n${/^ */.exec(area.value.slice(lineStart()))![0]}`);
    } else if (event.key !== "Shift") leaves = false;
  });
  area.addEventListener("blur", () => leaves = false);
}
