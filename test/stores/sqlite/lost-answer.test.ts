/** A thread ends before its answer arrives: its leases expire, or end when the store is closed. */

import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import workerThreads from 'node:worker_threads'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { admit, claim, LONG_MS, sample } from '../../../src/store-conformance/samples.ts'
import { hostOf } from '../../support/stores.ts'
import { ownFolder } from '../../support/own-folder.ts'

const { Worker } = workerThreads

/** Threads whose answers are discarded from now on; a caller that waits for one learns that the thread has ended. */
function loseAnswers(): () => void {
  let lose = false
  workerThreads.Worker = class extends Worker {
    override on(...[event, listener]: Parameters<workerThreads.Worker['on']>): this {
      if (event !== 'message') return super.on(event, listener)
      return super.on('message', (...given: unknown[]) => {
        // Without a number it is a notification.
        if (lose && JSON.stringify(given).includes('"number"')) void this.terminate()
        else Reflect.apply(listener, this, given)
      })
    }
  }
  syncBuiltinESMExports()
  onTestFinished(() => {
    workerThreads.Worker = Worker
    syncBuiltinESMExports()
  })
  return () => {
    lose = !lose
  }
}

test('an event whose lease was lost with the answer is due again when the lease expires', async () => {
  const toggle = loseAnswers()
  let nowMs = Date.now()
  const store = sqliteStore(join(ownFolder(), 'inbox.db'))
  const open = await store.open(hostOf({ nowMs: () => nowMs }))
  onTestFinished(() => open.close())
  await admit(open, [sample()])
  const { keys } = await open.due({ of: 'events', limit: 1 })
  toggle()
  const leasing = keys.map((key) => ({ do: 'lease', key, forMs: LONG_MS }) as const)
  await expect(open.run(leasing)).rejects.toMatchObject({ code: 'store_failed' })
  toggle()
  expect((await claim(open)).claims).toEqual([])
  nowMs += LONG_MS
  expect((await claim(open)).claims).toMatchObject([{ attempt: 2 }])
})

test('closing the store releases what an ended thread had leased', async () => {
  const toggle = loseAnswers()
  const folder = ownFolder()
  const store = sqliteStore(join(folder, 'inbox.db'))
  const open = await store.open(hostOf())
  await admit(open, [sample()])
  expect((await claim(open)).claims).toHaveLength(1)
  toggle()
  await expect(open.counts()).rejects.toMatchObject({ code: 'store_failed' })
  toggle()
  await open.close()
  const again = await store.open(hostOf())
  onTestFinished(() => again.close())
  expect((await claim(again)).claims).toMatchObject([{ attempt: 2 }])
  expect(await again.workers?.()).toMatchObject([{ isSelf: true, held: 1 }])
})
