/** Erases from a store. Without a message id, reads all records to find the targets. Erases in steps. */
import { everyPage } from '../../inbox/pages.ts'
import type { ForgetTarget, ForgottenCounts, OpenStore } from '../../inbox/store.ts'
import type { Wanted } from './selector.ts'

interface StoreForgotten extends ForgottenCounts {
  readonly examined: number
}

interface InStoreOptions {
  readonly dryRun: boolean
  readonly compact: boolean
  readonly nowMs: () => number
  /** Called before and after each step is erased. */
  readonly forgetting?: (targets: readonly ForgetTarget[]) => void
}

/** Small, because each body may have 256 KiB. */
const READ_A_STEP = 200
const TARGETS_A_STEP = 200

/** `wanted`: a message is given by its key. */
export async function forgetInStore(
  store: OpenStore<object>,
  wanted: ForgetTarget | Exclude<Wanted, { by: 'message' }>,
  options: InStoreOptions,
): Promise<StoreForgotten> {
  const { dryRun, compact, nowMs, forgetting = () => {} } = options
  const sum = { events: 0, unsettled: 0, deadLetters: 0, states: 0, examined: 0 }

  async function forget(targets: readonly ForgetTarget[]): Promise<void> {
    for (let from = 0; from < targets.length; from += TARGETS_A_STEP) {
      const some = targets.slice(from, from + TARGETS_A_STEP)
      if (!dryRun) forgetting(some)
      const counts = await store.forget({ targets: some, dryRun }, nowMs())
      sum.events += counts.events
      sum.unsettled += counts.unsettled
      sum.deadLetters += counts.deadLetters
      sum.states += counts.states
      if (!dryRun) forgetting(some)
    }
  }

  if ('messageKey' in wanted) await forget([wanted])
  else {
    /** Events found so far. The store may list one event twice: its bytes and its report. */
    const met = new Map<string, Set<string>>()
    const isOneByOne = wanted.by === 'time'
    for await (const page of everyPage((after) => store.kept({ after, limit: READ_A_STEP }))) {
      sum.examined += page.items.length
      const found = new Map<string, Set<string>>()
      for (const item of page.items) {
        if (!wanted.isMeant(item)) continue
        const ids = met.get(item.messageKey)
        if (ids?.has(item.id) === true) continue
        if (ids === undefined) met.set(item.messageKey, new Set([item.id]))
        else ids.add(item.id)
        found.set(item.messageKey, (found.get(item.messageKey) ?? new Set()).add(item.id))
      }
      if (isOneByOne) await forget(targetsOf(found))
      // Erased events are not listed again; events that are only counted may be.
      if (isOneByOne && !dryRun) met.clear()
    }
    if (!isOneByOne) {
      // A payload may outlast the record of its message, so erase payloads first. A dry run counts each event once.
      if (!dryRun) await forget(targetsOf(met))
      await forget([...met.keys()].map((messageKey) => ({ messageKey })))
    }
  }
  if (compact && !dryRun) await store.eraseTraces?.()
  return sum
}

function targetsOf(found: ReadonlyMap<string, ReadonlySet<string>>): readonly ForgetTarget[] {
  return Array.from(found, ([messageKey, ids]) => ({ messageKey, ids: [...ids] }))
}
