/** Answers with their whole bodies: to make a web-standard response and to read it takes longer than most answers do. */

/** Header fields, in their order. */
export type Fields = readonly (readonly [name: string, value: string])[];

/** A response that is there as a whole. */
export interface Answer {
  readonly status: number;
  readonly headers: Fields;
  readonly body: Uint8Array<ArrayBuffer>;
}

const UTF8 = new TextEncoder();
/** The fields of an answer in JSON. */
export const JSON_FIELDS: Fields = [["content-type", "application/json"]];

/** Makes an answer of a value, as JSON. */
export function jsonAnswer(value: unknown, status = 200, more: Fields = []): Answer {
  return { status, headers: [...JSON_FIELDS, ...more], body: UTF8.encode(JSON.stringify(value)) };
}

/** Reads a response to its end. */
export async function answerOf(response: Response | Answer): Promise<Answer> {
  if (!(response instanceof Response)) return response;
  const { status, headers } = response;
  return { status, headers: [...headers], body: new Uint8Array(await response.arrayBuffer()) };
}

/** Makes a web-standard response. */
export function responseOf({ status, headers, body }: Answer): Response {
  return new Response(body, {
    status,
    headers: headers.map((field): [string, string] => [...field]),
  });
}
