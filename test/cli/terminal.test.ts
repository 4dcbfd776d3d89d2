/** Colours by the environment. */
import { describe, expect, test } from 'vitest'
import { runCli, SIGNING_SECRET } from './cli.ts'

const VERIFY = ['verify', '--header', `t=1,v1=${'0'.repeat(64)}`]

describe('colours', { timeout: 120_000 }, () => {
  test.each([
    ['a pipe has none', {}, false],
    ['even where CI is set', { CI: 'true' }, false],
    ['unless they are forced', { FORCE_COLOR: '1' }, true],
    ['FORCE_COLOR=0 forces none', { FORCE_COLOR: '0' }, false],
  ])('%s', async (_, env, coloured) => {
    const { stdout } = await runCli(VERIFY, { SIGNING_SECRET, ...env }, '{}')
    expect(stdout.includes('\u001b[')).toBe(coloured)
  })
})
