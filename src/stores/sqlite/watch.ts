/** Looks at what other processes do with the file: SQLite tells nobody. */
import type { Clock } from '../../clock.ts'
import type { DatabaseSync } from 'node:sqlite'
import type { Holders } from './holders.ts'
import { isDead, removeSign, removeStraySigns } from './sign-of-life.ts'

/** How late work that another process admitted is noticed here, at most. */
const LOOK_EVERY_MS = 250
/** How late the death of another process is noticed, which takes asking each of them. */
const LOOK_FOR_DEAD_EVERY_MS = 1_000

interface Watched {
  readonly clock: Clock
  readonly db: DatabaseSync
  readonly holders: Holders
  /** Holds a folder for each open store. */
  readonly holdersFolder: string
  /** Something may be due that was not. */
  readonly onWork: () => void
}

/** The counter of others' writes costs next to nothing to read. */
export function watchWrites({ clock, db, onWork }: Watched): void {
  const version = db.prepare('PRAGMA data_version')
  let known = version.get()?.['data_version']
  function look(): void {
    if (!db.isOpen) return
    try {
      const now = version.get()?.['data_version']
      if (now !== known) onWork()
      known = now
    } catch {
      // The disk, perhaps. It must not end the thread; the verbs say what is wrong.
    }
    clock.setTimer(look, LOOK_EVERY_MS)
  }
  clock.setTimer(look, LOOK_EVERY_MS)
}

/** Releases what dead processes held: at once, and then as long as the store is open. */
export async function watchDeaths(watched: Watched): Promise<void> {
  const { clock, db, holders, holdersFolder } = watched
  for (let first = true; db.isOpen; first = false) {
    try {
      await releaseDead(watched)
      if (first)
        await removeStraySigns(
          holdersFolder,
          holders.others().map(({ name }) => name),
        )
    } catch {
      // Somebody writes for long, or the store is away, or it was closed meanwhile: next time, if there is one.
    }
    await new Promise<void>((resolve) => void clock.setTimer(resolve, LOOK_FOR_DEAD_EVERY_MS))
  }
}

async function releaseDead({ holders, holdersFolder, onWork }: Watched): Promise<void> {
  for (const { holder, name } of holders.others()) {
    if (!(await isDead(holdersFolder, name))) continue
    if (holders.release(holder) > 0) onWork()
    // Last: without its folder it would be no longer known to be dead.
    await removeSign(holdersFolder, name)
  }
}
