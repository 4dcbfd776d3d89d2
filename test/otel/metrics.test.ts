/** Metrics, as OpenTelemetry’s own SDK collects them, and their names in its semantic conventions. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { callback } from 'messaging-webhooks/testing'
import { expect, test } from 'vitest'
import * as conventions from '@opentelemetry/semantic-conventions/incubating'
import { observed, withSdk } from './observed.ts'
import { gate } from '../support/gate.ts'
import { ATTRIBUTES, METRICS } from '../../src/otel/names.ts'

const PROCESS = { 'messaging.system': 'messaging_webhooks', 'messaging.operation.name': 'process' }

test('attempts: durations and counts, by type and code', async () => {
  const sdk = withSdk()
  const { receiver, bring } = observed(sdk, { retry: { attempts: 2, initialDelayMs: 0, maxDelayMs: 0 } })
  receiver.on('message.failed', () => Promise.reject(new Error('no')))
  receiver.on('message.delivered', () => {})
  await bring(callback.smsDelivery())
  await bring(callback.smsDelivery())
  await bring(callback.smsDelivery({ status: 'network_failure' }))
  await receiver.drain()
  const failed = { ...PROCESS, 'messaging.destination.name': 'message.failed' }
  const expected = [
    [{ ...PROCESS, 'messaging.destination.name': 'message.delivered' }, 2],
    [{ ...failed, 'error.type': 'handler_failed' }, 1],
    [{ ...failed, 'error.type': 'dead_letter' }, 1],
  ]
  expect(await sdk.points('messaging.process.duration')).toEqual(expected)
  expect(await sdk.points('messaging.client.consumed.messages')).toEqual(expected)
})

test('callbacks by outcome, and current values at collection', async () => {
  const sdk = withSdk()
  const { receiver, bring } = observed(sdk, { retry: { attempts: 1, initialDelayMs: 0, maxDelayMs: 0 } })
  receiver.on('message.*', () => Promise.reject(new Error('no')))
  const first = callback.smsDelivery()
  await bring(first)
  await bring(first)
  await receiver.receive({ kind: 'payment', method: 'POST', headers: {}, body: Buffer.from(JSON.stringify(first)) })
  await receiver.drain()
  const kind = 'messaging_webhooks.callback.kind'
  const outcome = 'messaging_webhooks.callback.outcome'
  expect(await sdk.points('messaging_webhooks.callbacks')).toEqual([
    [{ [kind]: 'status', [outcome]: 'new' }, 1],
    [{ [kind]: 'status', [outcome]: 'duplicate' }, 1],
    [{ [kind]: 'payment', [outcome]: 'refused', 'error.type': 'signature_missing' }, 1],
  ])
  expect(await sdk.points('messaging_webhooks.unsettled')).toEqual([[{}, 0]])
  expect(await sdk.points('messaging_webhooks.dead_letters')).toEqual([[{}, 1]])
  expect(await sdk.points('messaging_webhooks.running')).toEqual([[{}, 0]])
  expect(await sdk.points('messaging_webhooks.spooled')).toEqual([[{}, 0]])
  const quarantined = await sdk.points('messaging_webhooks.quarantined')
  expect(quarantined.filter(([, value]) => value > 0).map(([, value]) => value)).toEqual([1])
})

test('counts unsettled events; a closed receiver reports nothing of its store', async () => {
  const sdk = withSdk()
  const { receiver, bring } = observed(sdk)
  const { open: release, opened: released } = gate()
  receiver.on('message.*', () => released)
  await bring(callback.smsDelivery())
  expect(await sdk.points('messaging_webhooks.unsettled')).toEqual([[{}, 1]])
  expect(await sdk.points('messaging_webhooks.store_up')).toEqual([[{}, 1]])
  release()
  await receiver.drain()
  await receiver.close()
  expect(await sdk.points('messaging_webhooks.store_up')).toEqual([[{}, 0]])
})

test('names other than our own are those of the semantic conventions, in the stated version', () => {
  const theirs = new Set<unknown>(Object.values(conventions))
  const all = [...Object.values(ATTRIBUTES), ...Object.keys(METRICS)]
  const ours = all.filter((name) => name.startsWith('messaging_webhooks.'))
  expect(ours.length).toBeGreaterThan(5)
  expect(all.filter((name) => !ours.includes(name) && !theirs.has(name))).toEqual([])
  expect(ours.filter((name) => theirs.has(name))).toEqual([])
  const file = readFileSync('src/otel/names.ts', 'utf8')
  const main = createRequire(import.meta.url).resolve('@opentelemetry/semantic-conventions')
  const manifest = readFileSync(main.replace(/dist.*$/, 'package.json'), 'utf8')
  expect(manifest).toContain(`"version": "${/version (\d+\.\d+\.\d+)/.exec(file)?.[1] ?? 'none'}"`)
})
