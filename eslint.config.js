import { defineConfig } from 'eslint/config'
import tseslint from 'typescript-eslint'

const HOUSE = [
  { selector: 'ExportDefaultDeclaration', message: 'Named exports only.' },
  { selector: 'TSNonNullExpression', message: 'Check for undefined instead.' },
]

export default defineConfig(
  {
    ignores: [
      'dist/',
      'coverage/',
      'docs/.vitepress/{dist,cache}/',
      'test/package/consumers/',
      'test/docs/example-*/',
      'examples/nest/',
    ],
  },
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: {
      parserOptions: {
        project: ['./tsconfig.json', './tsconfig.page.json'],
        tsconfigRootDir: import.meta.dirname,
      },
    },
    rules: {
      'no-restricted-syntax': ['error', ...HOUSE],
      // Numbers in messages are what messages are for.
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      // `{}` is how "nothing is added" is said in types.
      '@typescript-eslint/no-empty-object-type': 'off',
      '@typescript-eslint/no-empty-function': 'off',
      // Our objects are closures; nothing of ours uses `this`.
      '@typescript-eslint/unbound-method': 'off',
      // `_` is what is left out on purpose.
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_$' }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
    },
  },
  {
    files: ['src/**/*.ts'],
    ignores: ['src/runtime/clock.ts', 'src/inspector/page/data.ts', 'src/testing/**'],
    rules: {
      'no-restricted-globals': [
        'error',
        ...['setTimeout', 'setInterval', 'setImmediate', 'performance'].map((name) => ({
          name,
          message: 'Only clock.ts sets timers and asks for the time.',
        })),
      ],
      'no-restricted-properties': [
        'error',
        { object: 'Date', property: 'now', message: 'Only clock.ts asks for the time.' },
      ],
    },
  },
  {
    // The type `Sql` admits no value. A driver would accept any text.
    files: ['src/{stores,local-file,sqlite}/**/*.ts'],
    rules: {
      'no-restricted-syntax': [
        'error',
        ...HOUSE,
        {
          selector:
            'CallExpression[callee.property.name=/^(query|execute|prepare|exec)$/] > :matches(TemplateLiteral, BinaryExpression, Literal).arguments:first-child',
          message: 'Write SQL with the tag sql, and bind its values.',
        },
      ],
    },
  },
  {
    // What a sender wrote becomes a text node and nothing else.
    files: ['src/inspector/page/*.ts'],
    rules: {
      'no-restricted-syntax': [
        'error',
        ...HOUSE,
        {
          selector:
            ':matches(MemberExpression, Property)[property.name=/^(innerHTML|outerHTML|insertAdjacentHTML|setHTMLUnsafe|srcdoc|dangerouslySetInnerHTML)$/], MemberExpression[object.name=document][property.name=/^write/]',
          message: 'Text becomes a text node: use h().',
        },
        { selector: 'Identifier[name=/^(process|Buffer|global)$/]', message: 'The page runs in a browser.' },
      ],
    },
  },
  { files: ['*.config.ts', 'docs/.vitepress/**/*.ts'], rules: { 'no-restricted-syntax': 'off' } },
  {
    files: ['test/**/*.ts', 'bench/**/*.ts', 'examples/**/*.ts', 'docs/**/*.ts'],
    rules: { '@typescript-eslint/no-floating-promises': 'error', '@typescript-eslint/require-await': 'off' },
  },
)
