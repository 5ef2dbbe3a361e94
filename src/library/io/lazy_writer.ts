/** The module that writes files, for code that pages load too: they write none. */
export const fileWriter = (): Promise<typeof import("./file_writer.ts")> =>
  import("./file_writer.ts");
