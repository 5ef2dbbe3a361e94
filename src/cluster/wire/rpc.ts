/** Typed calls of the methods of a service, as its .proto file declares them. */
import {
  create,
  type DescMessage,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import type { GenService, GenServiceMethods } from "@bufbuild/protobuf/codegenv2";
import { InvalidArgumentError, UnimplementedError } from "../../engine/core/errors.ts";
import type { CallOptions, Channel, Handler, Parts } from "./transport.ts";

type Service<M extends GenServiceMethods> = GenService<M>;

function pathOf({ parent, name }: DescMethodUnary): string {
  return `/${parent.typeName}/${name}`;
}

export async function call<I extends DescMessage, O extends DescMessage>(
  channel: Channel,
  method: DescMethodUnary<I, O>,
  request: MessageInitShape<I>,
  options?: CallOptions,
): Promise<MessageShape<O>> {
  const bytes = toBinary(method.input, create(method.input, request));
  return fromBinary(method.output, await channel.call(pathOf(method), bytes, options));
}

/** The handler of one method, which returns a message or its bytes. */
export type Answering<I extends DescMessage, O extends DescMessage> = (
  request: MessageShape<I>,
  call: { readonly signal: AbortSignal },
) => Promise<MessageInitShape<O> | Parts> | MessageInitShape<O> | Parts;

/** Handlers of the methods of a service. */
export type Answers<M extends GenServiceMethods> = {
  readonly [K in keyof M]?: Answering<M[K]["input"], M[K]["output"]>;
};

/** Makes a service of handlers; calls of other methods fail with `UnimplementedError`. */
export function serviceOf<M extends GenServiceMethods>(
  service: Service<M>,
  answers: Answers<M>,
): Handler {
  const methods = new Map(
    Object.entries(service.method).map((
      [key, m],
    ) => [pathOf(m as DescMethodUnary), [m, answers[key]]]),
  ) as unknown as Map<string, [DescMethodUnary, Answering<DescMessage, DescMessage> | undefined]>;
  return async (path, bytes, context) => {
    const [method, answer] = methods.get(path) ?? [];
    if (method === undefined || answer === undefined) {
      throw new UnimplementedError(`${path} is not answered here`);
    }
    let request;
    try {
      request = fromBinary(method.input, bytes);
    } catch (e) {
      throw new InvalidArgumentError(`Cannot read the request of ${path}: ${(e as Error).message}`);
    }
    const given = await answer(request, context);
    if (Array.isArray(given)) return given as Parts;
    return [toBinary(method.output, create(method.output, given as MessageInitShape<DescMessage>))];
  };
}
