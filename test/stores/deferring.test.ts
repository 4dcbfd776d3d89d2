import { expect, test } from 'vitest'
import { deferring } from '../../src/stores/deferring.ts'
import type { AnswerOf, Command } from '../../src/messages/commands.ts'

const settle = (id: string) => ({ do: 'settle', key: `message of ${id}`, id, token: 1, outcome: 'done' }) as const
const expire = (key: string) => ({ do: 'expire', key }) as const

function recording(fails = false) {
  const calls: (readonly string[])[] = []
  const run = deferring(async <C extends Command>(commands: readonly C[]): Promise<readonly AnswerOf<C>[]> => {
    calls.push(commands.map(({ key }) => key))
    if (fails) throw new Error('The connection was lost.')
    // Each answer names its command.
    return commands.map(({ key }) => key) as readonly unknown[] as readonly AnswerOf<C>[]
  })
  return { calls, run }
}

test('deferred commands are gathered into one call, and each caller gets its answers', async () => {
  const { calls, run } = recording()
  const first = run([settle('a'), settle('b')], true)
  const second = run([settle('c')], true)
  expect(await run([expire('d'), expire('e')])).toEqual(['d', 'e'])
  expect(await first).toEqual(['message of a', 'message of b'])
  expect(await second).toEqual(['message of c'])
  expect(calls).toEqual([
    ['d', 'e'],
    ['message of a', 'message of b', 'message of c'],
  ])
  await run([settle('f')], true)
  expect(calls.at(-1)).toEqual(['message of f'])
})

test('a failed call fails all that it gathered', async () => {
  const { run } = recording(true)
  const all = await Promise.allSettled([run([settle('a')], true), run([settle('b')], true)])
  expect(all.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  await expect(run([expire('c')])).rejects.toThrow('lost')
})
