/** The handlers that are attached, by event type. */
import { unknownName } from '../runtime/check-options.ts'
import { MessagingWebhooksError } from '../public/errors.ts'
import { EVENT_FAMILIES, EVENT_TYPES, type EventType, type WebhookEvent } from '../public/events.ts'

/** What a handler gets beside the event. */
export interface Context {
  /** 1 for the first attempt. */
  readonly attempt: number
  /** Aborted when the handler runs past `handlerTimeoutMs`, past its lease, or past the deadline of `close()`. */
  readonly signal: AbortSignal
  /** True where `receiver.deadLetters.replay` asked for this run. */
  readonly replay: boolean
}

/** A handler as the dispatcher sees it; the public, narrower types are the receiver's. */
export type AnyHandler = (event: WebhookEvent, context: Context) => unknown

export interface Registration {
  /** For people: its function's, or what it was attached to. */
  readonly name: string
  readonly types: ReadonlySet<EventType> | undefined
  readonly handler: AnyHandler
}

export interface HandlerRegistry {
  /** `patterns` is undefined for every type. Returns the function that takes the handler off again. */
  add(patterns: string | readonly string[] | undefined, handler: AnyHandler): () => void
  /** In the order in which they were attached. */
  readonly byType: ReadonlyMap<EventType, readonly Registration[]>
  /** How long an attempt can take: the schema, and each handler that one event can have, have their own time. */
  readonly longestMs: number
}

export function createHandlerRegistry(handlerTimeoutMs: number): HandlerRegistry {
  let registrations: readonly Registration[] = []
  const registry = { add, byType: new Map<EventType, readonly Registration[]>(), longestMs: handlerTimeoutMs }

  function replace(next: readonly Registration[]): void {
    registrations = next
    registry.byType = new Map(
      EVENT_TYPES.map((type) => [type, next.filter(({ types }) => types === undefined || types.has(type))]),
    )
    const most = Math.max(...[...registry.byType.values()].map((found) => found.length))
    registry.longestMs = (1 + most) * handlerTimeoutMs
  }

  function add(patterns: string | readonly string[] | undefined, handler: AnyHandler): () => void {
    if (typeof handler !== 'function')
      throw new MessagingWebhooksError('pattern_unknown', 'The handler is no function.')
    const types = patterns === undefined ? undefined : new Set([patterns].flat().flatMap(typesOf))
    const name = handler.name !== '' ? handler.name : [patterns ?? 'any event'].flat().join(', ')
    const registration: Registration = { name, types, handler }
    replace([...registrations, registration])
    return () => replace(registrations.filter((other) => other !== registration))
  }

  return registry
}

/** The types that a pattern names. Throws where it names none, with what was probably meant. */
function typesOf(pattern: string): readonly EventType[] {
  const exact = EVENT_TYPES.find((type) => type === pattern)
  if (exact !== undefined) return [exact]
  if (EVENT_FAMILIES.some((family) => family === pattern))
    return EVENT_TYPES.filter((type) => type.startsWith(pattern.slice(0, -1)))
  throw new MessagingWebhooksError('pattern_unknown', hintFor(pattern))
}

function hintFor(pattern: string): string {
  if (pattern === '*' || pattern === 'any') return 'Did you mean `onAny(handler)`?'
  if (pattern === 'error') return 'Did you mean `onError(handler)`?'
  return unknownName(pattern, [...EVENT_TYPES, ...EVENT_FAMILIES])
}
