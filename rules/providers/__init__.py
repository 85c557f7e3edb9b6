"""Providers: what their billing interfaces answer becomes balances per model, or a failure that says what to do.

Reading order: answer, packages, paging, volcengine, aliyun. Asking is `streams/poll`.
"""
