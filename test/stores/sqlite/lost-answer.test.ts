/** A thread ends before its answer arrives: what it leased is due again at once. */

import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import workerThreads from 'node:worker_threads'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { admit, admitAndClaim, claim, sample, settlementOf, START_MS } from '../../../src/store-conformance/samples.ts'
import { ownFolder } from '../../support/own-folder.ts'

const { Worker } = workerThreads

/** Threads whose answers are discarded from now on; a caller that waits for one learns that the thread has ended. */
function loseAnswers(): () => void {
  let lose = false
  workerThreads.Worker = class extends Worker {
    override on(...[event, listener]: Parameters<workerThreads.Worker['on']>): this {
      if (event !== 'message') return super.on(event, listener)
      return super.on('message', (...given: unknown[]) => {
        if (lose) void this.terminate()
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

test('claims an event again at once, in its first attempt, when the answer to its admission was lost; keeps what is in flight', async () => {
  const toggle = loseAnswers()
  const folder = ownFolder()
  const open = await sqliteStore(join(folder, 'inbox.db')).open({ onWork: () => {} })
  onTestFinished(() => open.close())
  const [inFlight] = (await admitAndClaim(open, [sample({ message: 'a' })])).claims
  if (inFlight === undefined) throw new Error('No event was leased.')
  toggle()
  const event = sample({ message: 'b' })
  await expect(admitAndClaim(open, [event])).rejects.toMatchObject({ code: 'store_failed' })
  toggle()
  expect(await admit(open, [event])).toEqual(['duplicate'])
  const { claims } = await claim(open, { exclude: new Set([inFlight.messageKey]) })
  expect(claims).toMatchObject([{ id: event.id, attempt: 1 }])
  const done = [inFlight, ...claims].map((claimed) => settlementOf(claimed, { outcome: 'done' }))
  expect(await open.settle(done, START_MS)).toEqual([true, true])
  expect(await open.counts()).toEqual({ unsettled: 0, deadLetters: 0 })
})

test('claims events again at once, in their first attempt, when the answer to a claim was lost; keeps what is in flight', async () => {
  const toggle = loseAnswers()
  const folder = ownFolder()
  const open = await sqliteStore(join(folder, 'inbox.db')).open({ onWork: () => {} })
  onTestFinished(() => open.close())
  await admit(open, [sample({ message: 'a', at: 1 }), sample({ message: 'b', at: 2 }), sample({ message: 'c', at: 3 })])
  const [inFlight] = (await claim(open, { limit: 1 })).claims
  if (inFlight === undefined) throw new Error('No event was leased.')
  const exclude = new Set([inFlight.messageKey])
  toggle()
  await expect(claim(open, { exclude })).rejects.toMatchObject({ code: 'store_failed' })
  toggle()
  const { claims } = await claim(open, { exclude })
  expect(claims.map(({ attempt }) => attempt)).toEqual([1, 1])
  expect(claims.map(({ id }) => id)).not.toContain(inFlight.id)
  expect((await claim(open)).claims).toEqual([])
  const done = [inFlight, ...claims].map((claimed) => settlementOf(claimed, { outcome: 'done' }))
  expect(await open.settle(done, START_MS)).toEqual([true, true, true])
  expect(await open.counts()).toEqual({ unsettled: 0, deadLetters: 0 })
})

test('closing the store releases what an ended thread had leased', async () => {
  const toggle = loseAnswers()
  const folder = ownFolder()
  const store = sqliteStore(join(folder, 'inbox.db'))
  const open = await store.open({ onWork: () => {} })
  await admit(open, [sample()])
  expect((await claim(open)).claims).toHaveLength(1)
  toggle()
  await expect(open.counts()).rejects.toMatchObject({ code: 'store_failed' })
  toggle()
  await open.close()
  const again = await store.open({ onWork: () => {} })
  onTestFinished(() => again.close())
  expect((await claim(again)).claims).toMatchObject([{ attempt: 2 }])
  expect(await again.workers?.()).toMatchObject([{ isSelf: true, held: 1 }])
})
