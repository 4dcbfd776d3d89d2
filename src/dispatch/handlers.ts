/** The registered handlers, by event type, and the events without one. */
import { unknownName } from '../runtime/check-options.ts'
import { MessagingWebhooksError } from '../public/errors.ts'
import { EVENT_FAMILIES, EVENT_TYPES, PROBLEMS, type EventType, type WebhookEvent } from '../public/events.ts'
import type { Logger } from '../runtime/logger.ts'
import { defined } from '../runtime/values.ts'

/** The second argument of a handler. */
export interface HandlerContext {
  /** 1 for the first attempt. */
  readonly attempt: number
  /** Aborted when the handler exceeds `handlerTimeoutMs`, when the lease expires, or at the deadline of `close()`. */
  readonly signal: AbortSignal
  /** True if `receiver.deadLetters.replay` caused this run. */
  readonly replay: boolean
}

/** A handler as the dispatcher sees it. The receiver has the public, narrower types. */
export type AnyHandler = (event: WebhookEvent, context: HandlerContext) => unknown

export interface Registration {
  /** Display name: that of the function, or the pattern that it was registered for. */
  readonly name: string
  readonly types: ReadonlySet<EventType> | undefined
  readonly handler: AnyHandler
}

export type HandlerRegistry = Readonly<ReturnType<typeof createHandlerRegistry>>

export function createHandlerRegistry(handlerTimeoutMs: number) {
  let registrations: readonly Registration[] = []
  const registry = {
    /** Registers a handler for one pattern or several. Returns a function that removes it. */
    add(patterns: string | readonly string[], handler: AnyHandler): () => void {
      const given: readonly unknown[] = Array.isArray(patterns) ? patterns : [patterns]
      if (given.length === 0)
        throw new MessagingWebhooksError('pattern_unknown', 'The list is empty, so the handler would get no event.')
      return register(new Set(given.flatMap(typesOf)), handler, given.join(', '))
    },
    /** Registers a handler for every event. Returns a function that removes it. */
    addAny: (handler: AnyHandler): (() => void) => register(undefined, handler, 'any event'),
    /** In the order of registration. */
    byType: new Map<EventType, readonly Registration[]>(),
    /** The longest possible attempt: the time limit of the schema plus that of each handler of one event. */
    longestMs: handlerTimeoutMs,
  }

  function replace(next: readonly Registration[]): void {
    registrations = next
    registry.byType = new Map(
      EVENT_TYPES.map((type) => [type, next.filter(({ types }) => types === undefined || types.has(type))]),
    )
    const most = Math.max(...[...registry.byType.values()].map((found) => found.length))
    registry.longestMs = (1 + most) * handlerTimeoutMs
  }

  /** `types` is undefined for every type. */
  function register(types: Registration['types'], handler: AnyHandler, pattern: string): () => void {
    if (typeof handler !== 'function')
      throw new MessagingWebhooksError('pattern_unknown', 'The handler is not a function.')
    const registration: Registration = { name: handler.name !== '' ? handler.name : pattern, types, handler }
    replace([...registrations, registration])
    return () => replace(registrations.filter((other) => other !== registration))
  }

  return registry
}

/** The types that a pattern matches. Throws if there are none, and suggests the closest name. */
function typesOf(pattern: unknown): readonly EventType[] {
  if (typeof pattern !== 'string')
    throw new MessagingWebhooksError(
      'pattern_unknown',
      `Expected a text, got ${pattern === null ? 'null' : typeof pattern}.`,
    )
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

/** Counts events without a handler, and logs them with the probable cause: they are settled and would disappear silently. */
export function createUnhandled(logger: Logger) {
  /** Numbers of events since the start of this process. */
  const byType = new Map<EventType, number>()

  return {
    byType: byType as ReadonlyMap<EventType, number>,
    get count(): number {
      return [...byType.values()].reduce((all, count) => all + count, 0)
    },
    /** Counts an event without a handler. Logs every unrecognized one, and the first of each other type. */
    see(event: WebhookEvent): void {
      const { type: eventType, id: eventId } = event
      const before = byType.get(eventType) ?? 0
      byType.set(eventType, before + 1)
      if (event.type === 'unrecognized') {
        const { kind, problem, paths } = event
        const where = paths === undefined ? '' : `: ${paths.join(', ')}`
        logger.warn(
          { code: 'unrecognized_unhandled', eventId, ...defined({ kind }), problem, ...defined({ paths }) },
          `A callback could not be read (${problem}${where}). ${PROBLEMS[problem].join(' ')} No handler listens to ` +
            `\`unrecognized\`: attach one with \`receiver.on('unrecognized', …)\` to get its bytes. Event ${eventId}.`,
        )
      } else if (before === 0) {
        logger.warn(
          { code: 'event_unhandled', eventType, eventId },
          `No handler listens to \`${eventType}\`, so its events are settled without one. Attach one with ` +
            `\`receiver.on('${eventType}', …)\` or \`receiver.onAny(…)\`. Logged once per type. Event ${eventId}.`,
        )
      }
    },
  }
}
