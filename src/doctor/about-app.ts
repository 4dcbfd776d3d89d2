/** What a receiver tells the doctor of the app that it is part of. */
import type { StoreCapabilities } from '../inbox/store.ts'
import { EVENT_TYPES, REPORT_TYPES, type CallbackKind, type EventType } from '../events.ts'
import { withDeadline, type Clock } from '../clock.ts'
import { isOurs } from '../errors.ts'
import type { AppFacts } from './facts.ts'

interface AboutOptions {
  readonly clock: Clock
  readonly storeTimeoutMs: number
  readonly capabilities: StoreCapabilities
  readonly lacksSpool: boolean
  /** False where the handlers run in another process. */
  readonly dispatch: boolean
  readonly isHandled: (type: EventType) => boolean
  readonly networks: () => readonly string[]
  readonly keepAliveMs: () => number | undefined
  /** Opens the store, and asks it something. Rejects where it cannot be used. */
  readonly askStore: () => Promise<unknown>
}

const LONGEST_NAME = 80

/** What handlers may get from a URL of this kind, but for what comes by mischance alone: the log tells of that as it comes. */
function typesOf(kind: CallbackKind | undefined): readonly EventType[] {
  switch (kind) {
    case 'received':
    case 'payment':
      return [kind]
    case 'subscription':
      return EVENT_TYPES.filter((type) => type.startsWith('subscription.') && type !== 'subscription.other')
    default:
      return REPORT_TYPES
  }
}

export function createAboutApp(options: AboutOptions): (kind: CallbackKind | undefined) => Promise<AppFacts> {
  const { clock, storeTimeoutMs, capabilities, dispatch, isHandled } = options

  async function storeCode(): Promise<string | undefined> {
    try {
      const asked = options.askStore().then(() => undefined)
      return await withDeadline<string | undefined>(clock, storeTimeoutMs, asked, () => 'store_slow')
    } catch (error) {
      return isOurs(error) ? error.code : 'store_failed'
    }
  }

  return async (kind) => {
    const types = typesOf(kind)
    const code = await storeCode()
    const keepAliveMs = options.keepAliveMs()
    return {
      isProduction: process.env['NODE_ENV'] === 'production',
      store: {
        name: capabilities.name.slice(0, LONGEST_NAME),
        isDurable: capabilities.durable,
        ...(code === undefined ? {} : { code }),
      },
      lacksSpool: options.lacksSpool,
      unhandled: dispatch ? types.filter((type) => !isHandled(type)) : [],
      isAnyHandled: !dispatch || types.some(isHandled),
      networks: [...options.networks()],
      // JSON has no infinity: those that never close an idle connection say 0, as Node does.
      ...(keepAliveMs === undefined ? {} : { keepAliveMs: keepAliveMs === Infinity ? 0 : keepAliveMs }),
    }
  }
}
