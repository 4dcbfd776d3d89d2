/** Runs commands of a page as a reader's shell does. */
import { expect } from 'vitest'
import { runProgram } from '../support/program.ts'

const QUICK_NPM = { npm_config_audit: 'false', npm_config_fund: 'false', npm_config_prefer_offline: 'true' }

/** `env` adds to the reader's environment. */
export async function shell(
  commands: string,
  cwd: string,
  { code = 0, env = {} }: { readonly code?: number; readonly env?: NodeJS.ProcessEnv } = {},
): ReturnType<typeof runProgram> {
  const ran = await runProgram('sh', ['-c', commands], { cwd, env: { ...QUICK_NPM, ...env } })
  expect(ran.code, `${commands}\n${ran.stdout}${ran.stderr}`).toBe(code)
  return ran
}
