/** Plays the scenes, one callback at a time, so that what a handler got stands under it. */
import type { Receiver } from 'messaging-webhooks'
import type { Emulator } from 'messaging-webhooks/emulator'
import { scenes } from './scenes.ts'
import type { Screen } from './screen.ts'
import { playService } from './service.ts'

interface Stage {
  readonly receiver: Pick<Receiver, 'stats' | 'drain'>
  readonly screen: Screen
  readonly emulator: Emulator
  readonly appUrl: string
}

/** Returns the emulators that it made for the faults. */
export async function playScenes({ receiver, screen, emulator, appUrl }: Stage): Promise<readonly Emulator[]> {
  const faulty: Emulator[] = []
  for (const { title, steps } of scenes) {
    screen.scene(title)
    for (const { id, what, fault, run } of steps) {
      const service = fault === undefined ? emulator : playService(appUrl, fault)
      if (service !== emulator) faulty.push(service)
      const before = await receiver.stats()
      screen.callbackBegins()
      const deliveries = await run(service)
      await receiver.drain({ deadlineMs: 60_000 })
      const { duplicates, late } = await receiver.stats()
      // The service may post a callback twice at once: the receiver accepts one of them, and the other is a duplicate.
      const firstDuplicate = deliveries.length - (duplicates - before.duplicates)
      const posts = deliveries.map(({ status }, index) => ({
        status,
        note: index >= firstDuplicate ? 'duplicate' : late > before.late ? 'late' : '',
      }))
      screen.callbackEnds({ posts, kind: deliveries[0]?.kind, id, what })
    }
  }
  return faulty
}
