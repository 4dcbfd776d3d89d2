/** Apps that do not import `messaging-webhooks/otel` do not need OpenTelemetry. */
import { expect, test } from 'vitest'
import { without } from '../cli/cli.ts'
import { runProgram } from '../support/program.ts'

test('without the peer the receiver works, and only the entry says what is missing', async () => {
  const load = (entry: string) =>
    runProgram(process.execPath, ['--input-type=module', '-e', `await import('./src/${entry}')`], {
      env: without('@opentelemetry/api'),
    })
  const [root, otel] = await Promise.all([load('index.ts'), load('otel/index.ts')])
  expect(root).toMatchObject({ code: 0, stderr: '' })
  expect(otel.code).toBe(1)
  expect(otel.stderr).toContain('@opentelemetry/api')
})
