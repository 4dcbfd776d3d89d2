/** The check of the recipe fires when callbacks have stopped, and not before. The rule of the alerts reads metrics that the receiver has. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { callback } from 'messaging-webhooks/testing'
import { expect, onTestFinished, test, vi } from 'vitest'
import { post, receiving } from '../support/receiving.ts'
import { blockOf } from './production-app.ts'
import { exampleFolder, recipeWith } from './recipe-app.ts'

test('reports that callbacks have stopped for an hour, and not before', async () => {
  vi.useFakeTimers({ toFake: ['Date', 'setInterval', 'clearInterval'] })
  const logged = vi.spyOn(console, 'error').mockImplementation(() => {})
  onTestFinished(() => {
    vi.useRealTimers()
    vi.unstubAllGlobals()
    logged.mockRestore()
  })
  const { receiver, url } = await receiving({}, { kind: 'status' })
  vi.stubGlobal('receiver', receiver)
  const file = join(await exampleFolder(), 'check.ts')
  await writeFile(file, recipeWith('SILENT_MS'))
  await import(file)

  async function pass(minutes: number): Promise<void> {
    for (let passed = 0; passed < minutes; passed += 1) {
      vi.advanceTimersByTime(60_000)
      // The check asks for the counts.
      await receiver.stats()
      await setImmediate()
    }
  }

  await pass(50)
  expect((await post(url, callback.smsDelivery({ messageId: 'm-1' }))).status).toBe(204)
  // The check sees it within a minute.
  await pass(60)
  expect(logged).not.toHaveBeenCalled()
  // Refused requests do not count.
  expect((await fetch(url, { method: 'POST', body: '{}' })).status).toBe(401)
  await pass(1)
  expect(logged.mock.calls).toEqual([['No callbacks for an hour']])

  logged.mockClear()
  expect((await post(url, callback.smsDelivery({ messageId: 'm-2' }))).status).toBe(204)
  await pass(60)
  expect(logged).not.toHaveBeenCalled()
})

test('the rule sums series that the receiver has', async () => {
  const { receiver, url } = await receiving({}, { kind: 'status' })
  await post(url, callback.smsDelivery({ messageId: 'm-1' }))
  const [, rule = ''] = blockOf('docs/guides/observing.md', 'yaml').split('WebhooksSilent')
  const [, name, kind, outcomes = ''] = /increase\((\w+)\{(kind="\w+"),outcome=~"([^"]+)"\}/.exec(rule) ?? []
  const metrics = (await receiver.metrics()).split('\n')
  const series = outcomes.split('|').map((outcome) => `${name}{${kind},outcome="${outcome}",code=""}`)
  expect(metrics.filter((line) => series.some((one) => line.startsWith(`${one} `)))).toEqual([
    `${series[0]} 1`,
    `${series[1]} 0`,
    `${series[2]} 0`,
  ])
})
