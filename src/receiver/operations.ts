/** Composes the operations: health, metrics and counts, stored events, sends, and erasure. */
import { applySchema } from '../runtime/apply-schema.ts'
import { checkOptions } from '../runtime/check-options.ts'
import type { SteadyClock } from '../runtime/clock.ts'
import { createDeadLetters } from '../dispatch/dead-letters.ts'
import { createEvents, messageOptions } from '../dispatch/listed-events.ts'
import { revive } from '../dispatch/revive.ts'
import type { StoreAvailability } from '../inbox/availability.ts'
import { messageState } from '../inbox/latest.ts'
import { latestOf } from '../messages/views.ts'
import { createForget } from '../operations/erasure/forget.ts'
import { createHealth, healthMiddleware } from '../operations/health.ts'
import { createMetrics } from '../operations/metrics.ts'
import type { ErrorCode } from '../public/error-table.ts'
import { createAccounts } from '../sends/account.ts'
import { createExpect } from '../sends/expect.ts'
import { createIntend } from '../sends/intend.ts'
import type { Delivery } from './delivery.ts'
import type { Intake } from './intake.ts'
import type { Lifecycle } from './lifecycle.ts'
import type { ResolvedOptions } from './resolve-options.ts'
import type { Receiver } from './surface.ts'
import { messageKey, sendKey } from '../messages/order.ts'
import { MessagingWebhooksError } from '../public/errors.ts'
import type { CredentialsSource } from '../verify/credentials.ts'

interface OperationsOptions {
  readonly resolved: ResolvedOptions
  readonly clock: SteadyClock
  readonly credentials: Pick<CredentialsSource, 'byProject' | 'onlyProject'>
  readonly availability: StoreAvailability
  readonly delivery: Delivery
  readonly intake: Intake
  readonly lifecycle: Lifecycle
}

type Looking = 'events' | 'deadLetters' | 'messageState' | 'stats' | 'health' | 'healthMiddleware' | 'metrics'
type Acting = 'sends' | 'forget'

export function createOperations(options: OperationsOptions) {
  const { resolved, clock, credentials, availability, delivery, intake, lifecycle } = options
  const { storeTimeoutMs } = resolved
  const { dispatcher, inbox, reviving, unhandled } = delivery
  const { counter, quarantine } = intake
  const keys = createProjectKeys(credentials, Object.keys(resolved.projects ?? {}))
  const { keyOf } = keys
  const reading = {
    open: inbox.open,
    revive: (kept: Parameters<typeof revive>[0]) => revive(kept, reviving),
  }
  const sending = {
    ...keys,
    now: () => clock.now(),
    open() {
      lifecycle.startUnasked()
      return inbox.open()
    },
    expected: delivery.expected,
    wake: () => dispatcher.wake(),
    awaitAnswer: delivery.pending.awaitAnswer,
    metaSchema: (meta: unknown) => applySchema(resolved.schemas.meta, meta, 'meta', reviving),
  }
  const watch = createHealth({
    clock,
    storeTimeoutMs,
    dispatch: resolved.dispatch,
    progress: dispatcher.progress,
    keeping: inbox.keeping,
    unsettled: inbox.unsettled,
    isUnavailable: () => availability.isUnavailable,
    state: () => lifecycle.state,
    hasStartFailed: () => lifecycle.hasFailed,
    quarantined: quarantine.waiting,
    refusedByStore: () => inbox.refused,
  })
  const isClosed = (): boolean => lifecycle.state === 'closed'

  const calls: Pick<Receiver, Looking | Acting> = {
    async messageState(messageId, options) {
      const { project } = checkOptions(messageOptions, options, 'messageState')
      const key = keyOf(messageId, project)
      const opened = await inbox.open()
      const [record] = await opened.run([{ do: 'read', key }])
      const stored = record && latestOf(record)
      return stored && messageState(stored)
    },
    events: createEvents({ ...reading, reviving, keyOf }),
    deadLetters: createDeadLetters({
      ...reading,
      wake: () => dispatcher.wakeAfterReplay(),
      refused: inbox.refusedEvents,
    }),
    sends: {
      expect: createExpect(sending),
      ...createIntend({ ...sending, readsReports: resolved.readReport !== undefined }),
      ...createAccounts(inbox.open),
    },
    forget: createForget({ clock, keyOf, inbox, quarantine, dispatcher }),
    async stats() {
      const stored = isClosed() ? undefined : await inbox.known()
      const { spooled } = inbox
      return {
        ...counter.all(),
        unhandled: unhandled.count,
        running: dispatcher.running,
        store: isClosed() ? 'closed' : stored === undefined ? 'unavailable' : 'up',
        spooled,
        unsettled: stored === undefined ? undefined : stored.unsettled + spooled,
        deadLetters: stored?.deadLetters,
        workers: stored?.workers,
      }
    },
    health: watch.health,
    healthMiddleware: () => healthMiddleware(watch),
    metrics: createMetrics({
      counts: counter.details,
      unhandled,
      dispatcher,
      inbox,
      quarantined: () => quarantine.quarantine.counts(),
      clockOffsetSeconds: intake.clockOffsetSeconds,
      isClosed,
    }),
  }

  return {
    calls,
    projects: keys.all,
    /** Some errors change the health of the receiver. */
    reported(code: ErrorCode): void {
      if (code === 'store_full') watch.sawFull()
      watch.reported(code)
    },
  }
}

const MAX_NAMED = 1_000

/** The project of a message, and the keys of its events and its send. */
function createProjectKeys(
  { byProject, onlyProject }: OperationsOptions['credentials'],
  configured: readonly string[],
) {
  const seen = new Set(configured)

  /** Throws `project_required` if `project` is omitted and there are several. */
  function scopeOf(project: string | undefined): string | undefined {
    if (!byProject) return undefined
    const named = project ?? onlyProject
    if (named === undefined) throw new MessagingWebhooksError('project_required')
    if (seen.size < MAX_NAMED) seen.add(named)
    return named
  }

  return {
    keyOf: (messageId: string, project: string | undefined): string => messageKey(scopeOf(project), messageId),
    /** A send to a list has a key for each number. */
    sendKeyOf: (reference: string, project: string | undefined, number?: string): string =>
      sendKey(scopeOf(project), reference, number),
    /** The project, which may be omitted if there is a single named one. */
    named: (project: string | undefined): string | undefined => project ?? onlyProject,
    /** Names seen so far, at most 1,000: a lookup without a project tries each of them. */
    all: (): readonly string[] => [...seen],
  }
}
