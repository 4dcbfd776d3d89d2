/** A process without a server that dispatches from a file keeps running until it is asked to end. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { sqliteStore } from 'messaging-webhooks/sqlite'
import { callback } from 'messaging-webhooks/testing'
import { expect, onTestFinished, test } from 'vitest'
import { post, receiving } from '../../support/receiving.ts'
import { ownFile } from '../../support/own-folder.ts'

const TIMEOUT = { timeout: 60_000 }

function work(path: string, ...more: readonly string[]) {
  const child = fork(new URL('./programs/worker-only.ts', import.meta.url), [path, ...more], { silent: true })
  onTestFinished(() => void child.kill('SIGKILL'))
  let printed = ''
  child.stdout?.on('data', (piece: Buffer) => (printed += piece.toString()))
  return { child, ended: once(child, 'exit'), printed: () => printed }
}

test('handles what arrives later, and ends at a signal', TIMEOUT, async () => {
  const path = ownFile()
  const worker = work(path)
  await expect.poll(worker.printed).toContain('started')
  // Longer than an idle process takes to end.
  await new Promise((resolve) => setTimeout(resolve, 500))
  const { receiver, url } = await receiving({ store: sqliteStore(path), dispatch: false })
  await receiver.start()
  expect(await post(url, callback.smsDelivery({ messageId: 'later' }))).toMatchObject({ status: 204 })
  await expect.poll(worker.printed).toContain('handled later')
  worker.child.kill('SIGTERM')
  expect(await worker.ended).toEqual([0, null])
})

test('ends by itself once it has closed its receiver', TIMEOUT, async () => {
  expect(await work(ownFile(), 'close').ended).toEqual([0, null])
})
